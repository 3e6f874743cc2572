import { createApiKey, digestOf } from '@crs/kit/api-key';
import { Option, type Command } from 'commander';
import { duration, names } from '../arguments.ts';
import { command, connected, tenantCommand, type TenantOptions } from '../command.ts';
import { timestamp, layOutWithSecret, show, toJson, type OutputOptions } from '../output.ts';
import { confirm, withConsent, type ConsentOptions } from '../prompt.ts';

/** `crs key`: API keys of an organization. */
export function keyCommands(program: Command): void {
  const key = program.command('key').description('API keys of an organization');

  tenantCommand(key, 'create', 'create an API key, shown this once')
    .option('--label <label>', 'purpose of the key, at most 100 characters', '')
    .option('--expires-in <duration>', 'time until it expires: a number of s, m, h or d; without this option, never', duration)
    .addOption(
      new Option(
        '--rights <rights>',
        'what it may do, of read, write, ingest and delete; without this option, read,write',
      ).argParser(names),
    )
    .addOption(new Option('--read-only', 'the same as --rights read').conflicts('rights'))
    .option(
      '--networks <networks>',
      'IP addresses and networks from which it may be used, such as 203.0.113.0/24; without this option, all',
      names,
    )
    .addHelpText(
      'after',
      '\nExamples:\n  crs key create --org acme --label crm --expires-in 90d\n  crs key create --org acme --rights ingest --networks 203.0.113.0/24 --json',
    )
    .action(
      (options: TenantOptions & { label: string; expiresIn?: number; readOnly?: true; rights?: string[]; networks?: string[] }) =>
        connected(async ({ auth, operator }) => {
          const { label, expiresIn = 0, readOnly, networks = [] } = options;
          const rights = readOnly ? ['read'] : (options.rights ?? []);
          const request = { label, expiresInSeconds: expiresIn, rights, networks };
          const { apiKey, secret } = await auth.createKey(request, await operator(options.org));
          const { keyId, expiresAt } = apiKey!;
          const value = { key_id: keyId, key: secret, ...toJson(apiKey!), expires_at: timestamp(expiresAt) };
          show(options, value, () => layOutWithSecret(value, 'key'));
        }),
    );

  command(key, 'generate', 'make a key and its SHA-256 for the file of `crs apply`, without an installation; shown this once')
    .addHelpText('after', '\nThe key is valid once an applied file has its SHA-256, as a key or as a SCIM token.')
    .action((options: OutputOptions) => {
      const secret = createApiKey();
      const value = { key: secret, sha256: digestOf(secret).toString('hex') };
      show(options, value, () => layOutWithSecret(value, 'key'));
    });

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
