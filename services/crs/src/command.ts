import type { Environment } from '@crs/kit/process/config';
import type { Command } from 'commander';
import { organizationId } from './arguments.ts';
import type { Connection } from './connection.ts';
import type { OutputOptions } from './output.ts';

/** Options of a command for one organization. */
export interface TenantOptions extends OutputOptions {
  org: string;
}

/** Adds a command that prints one result. @param usage its name and arguments */
export function command(parent: Command, usage: string, summary: string): Command {
  return parent.command(usage).description(summary).option('--json', 'print one JSON object for programs');
}

/** Adds a command for one organization. */
export function tenantCommand(parent: Command, usage: string, summary: string): Command {
  return command(parent, usage, summary).requiredOption('--org <org>', 'id of the organization', organizationId);
}

/** Settings that the option `--operator` of this run replaces. */
let ownOperator: Environment = {};

/** Adds the option that names the operator's credential. It may stand before or after the command. */
export function withOperator(program: Command): void {
  program
    .option('--operator <file>', 'file of your credential; "-" reads it from the first line of standard input')
    // Before the command, which may read further lines of standard input.
    .hook('preAction', async () => {
      const { operator } = program.opts<{ operator?: string }>();
      ownOperator = operator === undefined ? {} : await credentialOf(operator);
    });
}

async function credentialOf(operator: string): Promise<Environment> {
  if (operator !== '-') return { CRS_OPERATOR_FILE: operator, CRS_OPERATOR_CREDENTIAL: undefined };
  const { readCredential } = await import('./config.ts');
  return { CRS_OPERATOR_CREDENTIAL: await readCredential() };
}

/** Runs `work` with a connection. Loads the modules for it only now, so that help and usage errors appear at once. */
export async function connected<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  const [{ loadConfig }, { connect }] = await Promise.all([import('./config.ts'), import('./connection.ts')]);
  const connection = connect(await loadConfig({ ...process.env, ...ownOperator }));
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}
