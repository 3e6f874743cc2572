import { Argument, type Command } from 'commander';
import type { SigningKey, SigningKeyState } from '@crs/proto/crs/auth/v1/admin';
import { command, connected, type Connect } from '../command.ts';
import { instant, show, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../question.ts';

const KINDS = ['token', 'caller'] as const;

/** The names of the protocol's values. Loaded when they are needed, because a start of the program should be quick. */
async function names() {
  const { SigningKeyKind, SigningKeyState: State } = await import('@crs/proto/crs/auth/v1/admin');
  return {
    kinds: { token: SigningKeyKind.SIGNING_KEY_KIND_TOKEN, caller: SigningKeyKind.SIGNING_KEY_KIND_CALLER },
    states: new Map<SigningKeyState, string>([
      [State.SIGNING_KEY_STATE_ANNOUNCED, 'announced'],
      [State.SIGNING_KEY_STATE_SIGNING, 'signing'],
      [State.SIGNING_KEY_STATE_VERIFYING, 'verifying'],
      [State.SIGNING_KEY_STATE_RETIRED, 'retired'],
    ]),
  };
}

/** `crs signing-key`: the keys that sign access tokens and the tokens between services. */
export function signingKeyCommands(program: Command, connect: Connect): void {
  const key = program.command('signing-key').description('keys that sign access tokens, and the tokens between services');

  command(key, 'list', 'list signing keys, newest first, and the last 100 that were retired').action((options: OutputOptions) =>
    connected(connect, async ({ auth, operator }) => {
      const { keys } = await auth.listSigningKeys({}, await operator());
      const known = await names();
      show(options, { data: keys.map((each) => toJson(each, known)) });
    }),
  );

  command(key, 'rotate', 'create a signing key, which signs after 10 seconds; tokens of earlier keys stay valid')
    .addArgument(new Argument('<kind>', 'token: signs access tokens; caller: signs tokens between services').choices(KINDS))
    .action((kind: (typeof KINDS)[number], options: OutputOptions) =>
      connected(connect, async ({ auth, operator }) => {
        const { kinds } = await names();
        const { keyId } = await auth.rotateSigningKey({ kind: kinds[kind] }, await operator());
        show(options, { key_id: keyId }, () => `Key ${keyId} signs in 10 seconds. Tokens of earlier keys stay valid.`);
      }),
    );

  withConsent(command(key, 'retire', 'delete a signing key, such as one that leaked; this cannot be undone'))
    .argument('<key-id>', 'id of the key')
    .option('--force', 'also if tokens that it signed are in use: they are refused within a second')
    .action(async (keyId: string, options: OutputOptions & ConsentOptions & { force?: boolean }) => {
      await confirm(`This deletes the signing key ${keyId}`, options);
      return connected(connect, async ({ auth, operator }) => {
        await auth.retireSigningKey({ keyId, force: options.force ?? false }, await operator());
        show(options, { key_id: keyId }, () => `Key ${keyId} is retired.`);
      });
    });
}

function toJson(key: SigningKey, { kinds, states }: Awaited<ReturnType<typeof names>>) {
  return {
    key_id: key.keyId,
    kind: key.kind === kinds.token ? 'token' : 'caller',
    state: states.get(key.state) ?? key.state,
    sign_from: instant(key.signFrom),
    retires_at: instant(key.retiresAt),
  };
}
