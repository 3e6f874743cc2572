import { once } from 'node:events';
import type { Command } from 'commander';
import { organizationId } from '../arguments.ts';
import { connected } from '../command.ts';
import type { Connection } from '../connection.ts';
import { Failure } from '../failure.ts';
import { escapeControls } from '../output.ts';

/** `crs export`: all records of an organization, as lines for `crs import`. */
export function exportCommand(program: Command): void {
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
    .action(({ org }: { org: string }) => connected((connection) => exportOrganization(connection, org)));
}

async function exportOrganization(connection: Connection, organization: string): Promise<void> {
  const [{ exportPages }, { retrying }, { MAX_LINE_BYTES }] = await Promise.all([
    import('../export/run.ts'),
    import('../retry.ts'),
    import('@crs/records/import-record'),
  ]);
  const read = retrying(async ({ service, page }: Parameters<Parameters<typeof exportPages>[0]>[0]) =>
    connection.exporters[service].exportRecords(page, await connection.operator(organization)),
  );
  const counts = new Map<string, number>();
  const tooLong: string[] = [];
  const progress = progressOf(counts);
  try {
    for await (const { type, lines: records } of exportPages(read)) {
      if (records.length === 0) continue;
      const lines = records.map((record) => Buffer.from(escapeControls(Buffer.from(record).toString())));
      tooLong.push(...lines.filter(({ length }) => length > MAX_LINE_BYTES).map(idOf));
      counts.set(type, (counts.get(type) ?? 0) + lines.length);
      const isReady = process.stdout.write(Buffer.concat(lines.flatMap((line) => [line, LINE_END])));
      progress.update();
      if (!isReady) await once(process.stdout, 'drain');
    }
  } finally {
    progress.stop();
  }
  if (tooLong.length > 0) {
    const named = tooLong.slice(0, MAX_NAMED).join(', ');
    throw new Failure(
      'too_long',
      `The output is complete, but an import takes no line over 8 MiB: ${tooLong.length} calls, ${named}.`,
    );
  }
}

const MAX_NAMED = 20;

function idOf(line: Uint8Array): string {
  return (JSON.parse(Buffer.from(line).toString()) as { id: string }).id;
}

const LINE_END = Buffer.from('\n');
const CLEAR_LINE = '\r\u001b[2K';

/** Shows counts on standard error if it is a terminal and standard output isn't. */
function progressOf(counts: Map<string, number>): { update: () => void; stop: () => void } {
  if (!process.stderr.isTTY || process.stdout.isTTY) return { update: () => undefined, stop: () => undefined };
  const text = () => [...counts].map(([type, count]) => `${type} ${count}`).join(', ');
  return {
    update: () => process.stderr.write(`${CLEAR_LINE}${text()}`),
    stop: () => process.stderr.write(`${CLEAR_LINE}${text()}\n`),
  };
}
