/** The ledger of erasures outside the database. */
import { open, readFile, rename } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import type { Erasure } from '@crs/proto/crs/people/v1/people';
import { z } from 'zod';
import type { Connection } from '../connection.ts';
import { Failure } from '../failure.ts';
import { retrying } from '../retry.ts';
import { erasePerson } from './run.ts';

/** The form of `crs erasures --json`, as the runbook of restores reads it. */
const ENTRY = z.object({
  organization: z.string(),
  erasure_id: z.string(),
  at: z.iso.datetime(),
  by: z.string(),
  kind: z.string(),
  count: z.number(),
  held: z.number(),
  completed_at: z.iso.datetime().nullable(),
  salt: z.string(),
  email: z.string().nullable(),
  names: z.array(z.string()),
  employer: z.string().nullable(),
  calls: z.array(z.string()),
  held_calls: z.array(z.string()),
});
export type LedgerEntry = z.output<typeof ENTRY>;

const LEDGER = z.object({ data: z.array(ENTRY) });

/** Reads the erasures of an organization with the digests of their calls, oldest first. */
export async function readLedger(
  { people, operator }: Connection,
  organization: string,
  since: Date | undefined,
): Promise<LedgerEntry[]> {
  const listErasures = retrying(async (after: string) => people.listErasures({ since, after }, await operator(organization)));
  const listCalls = retrying(async (request: { erasureId: string; after: string }) =>
    people.listErasedCalls(request, await operator(organization)),
  );
  const entries: LedgerEntry[] = [];
  for (let more = true, after = ''; more;) {
    const page = await listErasures(after);
    for (const erasure of page.erasures) {
      const { calls, heldCalls } = erasure;
      let next = '';
      do {
        const listed = await listCalls({ erasureId: erasure.erasureId, after: next });
        for (const call of listed.calls) calls.push(call);
        for (const call of listed.heldCalls) heldCalls.push(call);
        next = listed.next;
      } while (next !== '');
      entries.push(toEntry(organization, erasure));
    }
    more = page.more;
    after = page.erasures.at(-1)?.erasureId ?? '';
  }
  return entries;
}

function toEntry(organization: string, erasure: Erasure): LedgerEntry {
  const { erasureId, at, by, kind, count, held, completedAt, salt, email, names, employer, calls, heldCalls } = erasure;
  return {
    organization,
    erasure_id: erasureId,
    at: at!.toISOString(),
    by,
    kind,
    count,
    held,
    completed_at: completedAt?.toISOString() ?? null,
    salt,
    email: email || null,
    names,
    employer: employer || null,
    calls,
    held_calls: heldCalls,
  };
}

/** Reads a ledger from a file, or for `-` from standard input. @throws Failure unless it is one */
export async function loadLedger(file: string): Promise<LedgerEntry[]> {
  let text: string;
  try {
    text = file === '-' ? await readText(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new Failure('file', `${file} can't be read (${(error as NodeJS.ErrnoException).code}).`, error);
  }
  const result = LEDGER.safeParse(parseJson(text));
  if (result.success) return result.data.data;
  throw new Failure('file', `${file} is not a ledger that \`crs erasures --json\` printed.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Writes the ledger to a file. Keeps the entries and calls that the file already has: a database that was restored from a backup lacks the latest ones.
 * @returns how many entries the file has
 */
export async function keepLedger(file: string, entries: LedgerEntry[], fileExists: boolean): Promise<number> {
  const byId = new Map<string, LedgerEntry>();
  for (const entry of [...(fileExists ? await loadLedger(file) : []), ...entries]) {
    const id = `${entry.organization} ${entry.erasure_id}`;
    byId.set(id, mergeEntries(byId.get(id), entry));
  }
  const data = [...byId.values()].toSorted((a, b) => (a.at < b.at ? -1 : 1));
  const temporary = `${file}.new`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify({ data })}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  return data.length;
}

/** The database may have been restored to a time in the middle of the erasure. */
function mergeEntries(kept: LedgerEntry | undefined, entry: LedgerEntry): LedgerEntry {
  if (!kept) return entry;
  const union = (a: string[], b: string[]) => [...new Set([...a, ...b])].toSorted();
  const calls = union(kept.calls, entry.calls);
  const completed = entry.completed_at ?? kept.completed_at;
  return { ...entry, calls, count: calls.length, held_calls: union(kept.held_calls, entry.held_calls), completed_at: completed };
}

const CALLS_AT_ONCE = 10_000;

/** Enters an erasure again, and repeats it. */
export async function replay(connection: Connection, entry: LedgerEntry, advance: Parameters<typeof erasePerson>[3]) {
  const { people, operator } = connection;
  const { organization, erasure_id: erasureId, at, by, kind, salt, names, calls, held_calls: heldCalls } = entry;
  const erasure = { erasureId, at: new Date(at), by, kind, salt, names, count: 0, held: 0, completedAt: undefined };
  const restore = retrying(async (part: { calls: string[]; heldCalls: string[] }) =>
    people.restoreErasure(
      { erasure: { ...erasure, email: entry.email ?? '', employer: entry.employer ?? '', ...part } },
      await operator(organization),
    ),
  );
  for (let from = 0; from === 0 || from < calls.length; from += CALLS_AT_ONCE) {
    await restore({ calls: calls.slice(from, from + CALLS_AT_ONCE), heldCalls: [] });
  }
  for (let from = 0; from < heldCalls.length; from += CALLS_AT_ONCE) {
    await restore({ calls: [], heldCalls: heldCalls.slice(from, from + CALLS_AT_ONCE) });
  }
  return erasePerson(connection, organization, { erasureId }, advance);
}
