import { once } from 'node:events';
import type { Command } from 'commander';
import { organizationId } from '../arguments.ts';
import { connected, type Connect } from '../command.ts';
import type { Connection } from '../connection.ts';

/** `crs export`: everything of an organization, as lines for `crs import`. */
export function exportCommand(program: Command, connect: Connect): void {
  program
    .command('export')
    .description('print everything of an organization as the lines that `crs import` takes')
    .requiredOption('--org <org>', 'id of the organization', organizationId)
    .addHelpText(
      'after',
      `
Needs the role admin. The lines hold no passwords, keys, tokens, sign-in settings or audit trail. Records that change during the export
may be in it as they were or as they are.

Examples:
  (umask 077; crs export --org acme > acme.ndjson)
  crs export --org acme | gzip > acme.ndjson.gz`,
    )
    .action(({ org }: { org: string }) => connected(connect, (connection) => exportOrganization(connection, org)));
}

async function exportOrganization(connection: Connection, organization: string): Promise<void> {
  const [{ exportPages }, { retrying }] = await Promise.all([import('../export/run.ts'), import('../retry.ts')]);
  const read = retrying(async ({ service, page }: Parameters<Parameters<typeof exportPages>[0]>[0]) =>
    connection.exporters[service].exportRecords(page, await connection.operator(organization)),
  );
  const counts = new Map<string, number>();
  const progress = progressOf(counts);
  try {
    for await (const { type, lines } of exportPages(read)) {
      if (lines.length === 0) continue;
      counts.set(type, (counts.get(type) ?? 0) + lines.length);
      const isReady = process.stdout.write(Buffer.concat(lines.flatMap((line) => [line, LINE_END])));
      progress.update();
      if (!isReady) await once(process.stdout, 'drain');
    }
  } finally {
    progress.stop();
  }
}

const LINE_END = Buffer.from('\n');
const CLEAR_LINE = '\r\u001b[2K';

/** Shows counts on standard error if that is a terminal, and standard output is none. */
function progressOf(counts: Map<string, number>): { update: () => void; stop: () => void } {
  if (!process.stderr.isTTY || process.stdout.isTTY) return { update: () => undefined, stop: () => undefined };
  const text = () => [...counts].map(([type, count]) => `${type} ${count}`).join(', ');
  return {
    update: () => process.stderr.write(`${CLEAR_LINE}${text()}`),
    stop: () => process.stderr.write(`${CLEAR_LINE}${text()}\n`),
  };
}
