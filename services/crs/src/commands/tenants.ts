import type { Command } from 'commander';
import { ServiceError } from '@crs/kit/errors';
import { organizationId } from '../arguments.ts';
import { command, connected } from '../command.ts';
import type { Connection } from '../connection.ts';
import { show, type OutputOptions } from '../output.ts';

/** `crs tenants`: organizations as a file. */
export function tenantsCommands(program: Command): void {
  const tenants = program.command('tenants').description('organizations as a file of `crs apply`');

  command(tenants, 'export', 'print organizations as a file of `crs apply`, in YAML')
    .option('--org <org>', 'id of an organization; without this option, all that you may see', organizationId)
    .addHelpText(
      'after',
      `
The file has no secrets, users, expired or revoked keys. It has the digests of keys, so the same keys are valid wherever it is applied.

Examples:
  crs tenants export > tenants.yaml
  crs tenants export --org acme --json`,
    )
    .action((options: OutputOptions & { org?: string }) =>
      connected(async (connection) => {
        const { toYaml } = await import('../apply/yaml.ts');
        const ids = options.org === undefined ? await listIds(connection) : [options.org];
        const organizations: object[] = [];
        for (const id of ids) {
          const state = await exportOne(connection, id, options.org === undefined);
          if (state) organizations.push(state);
        }
        show(options, { organizations }, () => toYaml({ organizations }));
      }),
    );
}

async function listIds({ auth, operator }: Connection): Promise<string[]> {
  const { organizations } = await auth.listOrganizations({}, await operator());
  return organizations.map(({ organizationId: id }) => id);
}

/** @param mayBeMissing the list has organizations that are being deleted, too */
async function exportOne({ auth, operator }: Connection, id: string, mayBeMissing: boolean): Promise<object | undefined> {
  try {
    const { stateJson } = await auth.exportTenant({}, await operator(id));
    return JSON.parse(Buffer.from(stateJson).toString()) as object;
  } catch (error) {
    if (mayBeMissing && error instanceof ServiceError && error.kind === 'not_found') return undefined;
    throw error;
  }
}
