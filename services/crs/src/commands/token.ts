import type { Command } from 'commander';
import type { Token } from '@crs/proto/crs/auth/v1/admin';
import { duration, scopes } from '../arguments.ts';
import { command, connected, tenantCommand, type TenantOptions } from '../command.ts';
import { timestamp, layOutWithSecret, show, toJson, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

/** `crs token`: access tokens for the tools, without a sign-in. */
export function tokenCommands(program: Command): void {
  const token = program.command('token').description('access tokens of users, for tests and for assistants without a sign-in');

  tenantCommand(token, 'create', 'create an access token, shown this once')
    .requiredOption('--user <email>', 'e-mail of the user whose access it has')
    .option('--scope <scopes>', 'any of calls:read, projects:read and entities:read, in quotes; without this option, all', scopes)
    .option('--expires-in <duration>', 'time until it expires: a number of s, m, h or d; without this option, 30d', duration)
    .addHelpText('after', '\nExamples:\n  crs token create --org acme --user ann@acme.example --scope "calls:read projects:read"')
    .action((options: TenantOptions & { user: string; scope?: string[]; expiresIn?: number }) =>
      connected(async ({ auth, operator }) => {
        const request = { email: options.user, scopes: options.scope ?? [], expiresInSeconds: options.expiresIn ?? 0 };
        const { token: issued, accessToken } = await auth.createToken(request, await operator(options.org));
        const { tokenId, expiresAt } = issued!;
        const scope = issued!.scopes.join(' ');
        const value = { token_id: tokenId, access_token: accessToken, scope, expires_at: timestamp(expiresAt) };
        show(options, value, () => layOutWithSecret(value, 'token'));
      }),
    );

  tenantCommand(token, 'list', 'list access tokens, newest first, revoked ones included').action((options: TenantOptions) =>
    connected(async ({ auth, operator }) => {
      const { tokens } = await auth.listTokens({}, await operator(options.org));
      show(options, { data: tokens.map(tokenJson) });
    }),
  );

  withConsent(tenantCommand(token, 'revoke', 'revoke an access token, with effect at once; this cannot be undone'))
    .argument('<token-id>', 'id of the token')
    .action(async (tokenId: string, options: TenantOptions & ConsentOptions) => {
      await confirm(`This revokes the token ${tokenId} of ${options.org}`, options);
      return connected(async ({ auth, operator }) => {
        const { token: revoked } = await auth.revokeToken({ tokenId }, await operator(options.org));
        show(options, tokenJson(revoked!), () => `Token ${tokenId} was revoked at ${timestamp(revoked!.revokedAt)}.`);
      });
    });

  command(token, 'rotate-key', 'create a new signing key for access tokens').action((options: OutputOptions) =>
    connected(async ({ auth, operator }) => {
      const { keyId } = await auth.rotateTokenKey({}, await operator());
      show(options, { key_id: keyId }, () => `Key ${keyId} signs in 10 seconds. Tokens of earlier keys stay valid.`);
    }),
  );
}

function tokenJson({ email, scopes, ...token }: Token) {
  const { token_id, ...rest } = toJson(token);
  return { token_id, user: email, scope: scopes.join(' '), ...rest };
}
