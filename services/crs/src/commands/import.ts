import { readFileSync } from 'node:fs';
import { CommanderError, type Command } from 'commander';
import { organizationId, recordTypes } from '../arguments.ts';
import { command, connected } from '../command.ts';
import { describe, Failure } from '../failure.ts';
import { printable, show, type OutputOptions } from '../output.ts';
import { RECORD_TYPES, type RefusedLine } from '../import/route.ts';

interface ImportOptions extends OutputOptions {
  org?: string;
  types?: string[];
  check?: boolean;
}

const MAX_ERRORS = 1_000;

/** `crs import`: loads records. */
export function importCommand(program: Command): void {
  command(program, 'import', 'load records from a file of JSON lines; exit code 1 when a line was refused')
    .argument('<file>', 'file with one record a line, or - for standard input')
    .option('--org <org>', 'refuse lines of other organizations', organizationId)
    .option('--types <types>', `refuse lines of other types: some of ${[...RECORD_TYPES.keys()].join(',')}`, recordTypes)
    .option('--check', 'store nothing, and name each line that an import would refuse')
    .option('--schema', 'print the JSON Schema of a line, and do nothing else')
    .on('option:schema', () => {
      // In a listener, because it must run before the check that a file is given.
      process.stdout.write(readFileSync(new URL('../import/schema.json', import.meta.url)));
      throw new CommanderError(0, 'crs.schema', '');
    })
    .addHelpText(
      'after',
      `
A record may refer to earlier lines and to stored records. Good lines are stored; bad lines are named and left out. Running the
same file again changes nothing, so run it again after an interruption.

Examples:
  crs import records.ndjson
  zcat records.ndjson.gz | crs import -
  crs import records.ndjson --org acme --types call,entity
  crs import records.ndjson --check
  crs import --schema > line.schema.json
  crs import records.ndjson --json | jq '.errors[] | "\\(.line): \\(.field) \\(.reason)"'`,
    )
    .action((file: string, options: ImportOptions) => importFile(file, options));
}

async function importFile(file: string, options: ImportOptions): Promise<void> {
  const [{ run, ImportStopped }, { sender }, { checker }, { retrying }, { display }, { openSource }] = await Promise.all([
    import('../import/run.ts'),
    import('../import/send.ts'),
    import('../import/check.ts'),
    import('../retry.ts'),
    import('../import/progress.ts'),
    import('../import/source.ts'),
  ]);
  const { chunks, totalBytes } = await openSource(file);
  await connected(async (connection) => {
    const errors: RefusedLine[] = [];
    const view = await display(totalBytes);
    const send = options.check ? checker(connection, retrying) : retrying(sender(connection));
    const refused = (refusal: RefusedLine) => {
      if (errors.length === MAX_ERRORS) return;
      errors.push(refusal);
      if (!options.json) view.print(sentence(refusal));
    };
    try {
      const confines = { organization: options.org, types: options.types };
      const progress = await run(chunks, send, { progress: view.update, refused }, confines);
      const { lines, accepted, unchanged, refused: count } = progress;
      view.stop();
      if (count > errors.length && !options.json) view.print(`... and ${count - errors.length} more.`);
      show(options, { lines, accepted, unchanged, refused: count, errors }, () => {
        const summary = `${lines} lines: ${accepted} accepted, ${unchanged} unchanged, ${count} refused.`;
        return options.check ? `${summary} Nothing was stored.` : summary;
      });
      if (count > 0) process.exitCode = 1;
    } catch (error) {
      view.stop();
      throw error instanceof ImportStopped ? stopped(error.doneThrough, error.cause, options) : error;
    }
  });
}

function sentence({ line, field, reason }: RefusedLine): string {
  return printable(field === null ? `line ${line}: ${reason}` : `line ${line}: ${field}: ${reason}`);
}

function stopped(doneThrough: number, cause: unknown, { check }: ImportOptions): Failure {
  const { code, message } = describe(cause);
  const done = doneThrough === 0 ? `before its first lines were ${check ? 'checked' : 'stored'}` : `after line ${doneThrough}`;
  const action = check ? 'check' : 'import';
  const again = check
    ? 'Run it again once that is fixed.'
    : 'Run the same file again once that is fixed: what is stored already counts as unchanged.';
  return new Failure(code, `The ${action} stopped ${done}: ${message} ${again}`, cause);
}
