import type { Command } from 'commander';
import { duration } from '../arguments.ts';
import { connected, tenantCommand, type TenantOptions } from '../command.ts';
import { timestamp, layOutWithSecret, show, toJson } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

/** `crs key`: API keys of an organization. */
export function keyCommands(program: Command): void {
  const key = program.command('key').description('API keys of an organization');

  tenantCommand(key, 'create', 'create an API key, shown this once')
    .option('--label <label>', 'purpose of the key, at most 100 characters', '')
    .option('--expires-in <duration>', 'time until it expires: a number of s, m, h or d; without this option, never', duration)
    .option('--read-only', 'refuse everything that writes')
    .addHelpText(
      'after',
      '\nExamples:\n  crs key create --org acme --label crm --expires-in 90d\n  crs key create --org acme --read-only --json',
    )
    .action((options: TenantOptions & { label: string; expiresIn?: number; readOnly?: true }) =>
      connected(async ({ auth, operator }) => {
        const request = { label: options.label, expiresInSeconds: options.expiresIn ?? 0, readOnly: options.readOnly ?? false };
        const { apiKey, secret } = await auth.createKey(request, await operator(options.org));
        const { keyId, label, readOnly, expiresAt } = apiKey!;
        const value = { key_id: keyId, key: secret, label, read_only: readOnly, expires_at: timestamp(expiresAt) };
        show(options, value, () => layOutWithSecret(value, 'key'));
      }),
    );

  tenantCommand(key, 'list', 'list API keys, newest first, revoked ones included').action((options: TenantOptions) =>
    connected(async ({ auth, operator }) => {
      const { apiKeys } = await auth.listKeys({}, await operator(options.org));
      show(options, { data: apiKeys.map(toJson) });
    }),
  );

  withConsent(tenantCommand(key, 'revoke', 'revoke an API key, with effect at once; this cannot be undone'))
    .argument('<key-id>', 'id of the key')
    .action(async (keyId: string, options: TenantOptions & ConsentOptions) => {
      await confirm(`This revokes the key ${keyId} of ${options.org}`, options);
      return connected(async ({ auth, operator }) => {
        const { apiKey } = await auth.revokeKey({ keyId }, await operator(options.org));
        show(options, toJson(apiKey!), () => `Key ${keyId} was revoked at ${timestamp(apiKey!.revokedAt)}.`);
      });
    });
}
