import { Argument, type Command } from 'commander';
import type { SigningKey } from '@crs/proto/crs/auth/v1/admin';
import { command, connected } from '../command.ts';
import { show, toJson, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

const KINDS = { token: 'SIGNING_KEY_KIND_TOKEN', caller: 'SIGNING_KEY_KIND_CALLER' } as const;

/** `crs signing-key`: the keys that sign access tokens and the tokens between services. */
export function signingKeyCommands(program: Command): void {
  const key = program.command('signing-key').description('keys that sign access tokens, and the tokens between services');

  command(key, 'list', 'list signing keys, newest first, and the last 100 that were retired').action((options: OutputOptions) =>
    connected(async ({ auth, operator }) => {
      const { keys } = await auth.listSigningKeys({}, await operator());
      show(options, { data: keys.map(keyJson) });
    }),
  );

  command(key, 'rotate', 'create a signing key, which signs after 10 seconds; tokens of earlier keys stay valid')
    .addArgument(
      new Argument('<kind>', 'token: signs access tokens; caller: signs tokens between services').choices(Object.keys(KINDS)),
    )
    .action((kind: keyof typeof KINDS, options: OutputOptions) =>
      connected(async ({ auth, operator }) => {
        const { keyId } = await auth.rotateSigningKey({ kind: KINDS[kind] }, await operator());
        show(options, { key_id: keyId }, () => `Key ${keyId} signs in 10 seconds. Tokens of earlier keys stay valid.`);
      }),
    );

  withConsent(command(key, 'retire', 'delete a signing key, such as one that leaked; this cannot be undone'))
    .argument('<key-id>', 'id of the key')
    .option('--force', 'also if tokens that it signed are in use: they are refused within a second')
    .action(async (keyId: string, options: OutputOptions & ConsentOptions & { force?: boolean }) => {
      await confirm(`This deletes the signing key ${keyId}`, options);
      return connected(async ({ auth, operator }) => {
        await auth.retireSigningKey({ keyId, force: options.force ?? false }, await operator());
        show(options, { key_id: keyId }, () => `Key ${keyId} is retired.`);
      });
    });
}

function keyJson(key: SigningKey) {
  return {
    ...toJson(key),
    kind: key.kind.replace('SIGNING_KEY_KIND_', '').toLowerCase(),
    state: key.state.replace('SIGNING_KEY_STATE_', '').toLowerCase(),
  };
}
