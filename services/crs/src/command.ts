import type { Command } from 'commander';
import { organizationId } from './arguments.ts';
import type { Connection } from './connection.ts';
import type { OutputOptions } from './output.ts';

/** Connects to the installation. Loads the modules for it only then, so that help and usage errors appear at once. */
export type Connect = () => Promise<Connection>;

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

/** Runs `work` with a connection, and closes it afterwards. */
export async function connected<T>(connect: Connect, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await connect();
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}
