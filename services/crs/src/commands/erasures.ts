import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { organizationId, timestampArgument } from '../arguments.ts';
import { command, connected } from '../command.ts';
import { Failure } from '../failure.ts';
import type { LedgerEntry } from '../people/ledger.ts';
import { layOut, show, type OutputOptions } from '../output.ts';

interface ListOptions extends OutputOptions {
  org?: string;
  since?: Date;
  to?: string;
}

interface ReplayOptions extends OutputOptions {
  org?: string;
  since?: Date;
}

/** `crs erasures`: the ledger of erasures. */
export function erasuresCommands(program: Command): void {
  const erasures = withSelection(command(program, 'erasures', 'show the ledger of erased people, oldest first'))
    .option('--to <file>', 'keep the ledger in this file; entries that it already has stay')
    .addHelpText(
      'after',
      `
The ledger has salted digests instead of people and of calls' ids. Keep it outside the database, and replay it after a restore.

Examples:
  crs erasures --org acme
  crs erasures --to /ledger/erasures.json
  crs erasures replay /ledger/erasures.json --since 2026-01-31T12:00:00Z`,
    )
    .action((options: ListOptions) => listErasures(options));

  withSelection(command(erasures, 'replay', 'repeat the erasures of a ledger after a restore'))
    .argument('<file>', 'ledger that `crs erasures` wrote, or - for standard input')
    .action((file: string, _: ReplayOptions, replay: Command) => replayErasures(file, replay.optsWithGlobals<ReplayOptions>()));
}

function withSelection(parent: Command): Command {
  return parent
    .option('--org <org>', 'only erasures of this organization', organizationId)
    .option('--since <time>', 'leave out erasures that were complete by then, such as the time of the backup', timestampArgument);
}

function listErasures(options: ListOptions): Promise<void> {
  return connected(async (connection) => {
    const { readLedger, keepLedger } = await import('../people/ledger.ts');
    const entries: LedgerEntry[] = [];
    for (const organization of options.org === undefined ? await organizationsOf(connection) : [options.org]) {
      for (const entry of await readLedger(connection, organization, options.since)) entries.push(entry);
    }
    if (options.to !== undefined) {
      const kept = await keepLedger(options.to, entries, existsSync(options.to));
      return show(options, { file: options.to, erasures: kept });
    }
    show(options, { data: entries }, () =>
      layOut({
        data: entries.map(({ organization, erasure_id, at, by, kind, count, held, completed_at }) => ({
          ...{ organization, erasure_id, at, by, kind, count, held },
          complete: completed_at !== null,
        })),
      }),
    );
  });
}

async function organizationsOf({ auth, operator }: Parameters<Parameters<typeof connected>[0]>[0]): Promise<string[]> {
  const { organizations } = await auth.listOrganizations({}, await operator());
  return organizations.map(({ organizationId: id }) => id);
}

function replayErasures(file: string, { org, since, ...options }: ReplayOptions): Promise<void> {
  return connected(async (connection) => {
    const [{ loadLedger, replay }, { showProgress }] = await Promise.all([
      import('../people/ledger.ts'),
      import('../people/progress.ts'),
    ]);
    const ledger = await loadLedger(file);
    const wanted = ledger
      .filter(({ organization, completed_at: completed }) => {
        // An erasure that was under way at the time of the backup was completed later.
        const isOlder = since !== undefined && completed !== null && new Date(completed) < since;
        return (org ?? organization) === organization && !isOlder;
      })
      .toSorted((a, b) => (a.at < b.at ? -1 : 1));
    const existing = new Set(await organizationsOf(connection));
    const view = await showProgress();
    const data = [];
    try {
      for (const entry of wanted.filter(({ organization }) => existing.has(organization))) {
        const { erasureId, changed, deleted, held } = await replay(connection, entry, view.advance);
        data.push({ organization: entry.organization, erasure_id: erasureId, changed, deleted, held });
      }
    } finally {
      view.stop();
    }
    show(options, { data });
    const missing = [...new Set(wanted.map(({ organization }) => organization))].filter((id) => !existing.has(id));
    if (missing.length > 0)
      throw new Failure('not_found', `There are no organizations ${missing.join(', ')}: their erasures were left out.`);
  });
}
