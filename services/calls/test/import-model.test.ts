import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '@crs/testing/random';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callLine, detailOf, PROJECT, sendBatch, tenantRecords, type CallLine } from './_records.ts';

const SEED = Number(process.env['CRS_TEST_SEED'] ?? 1);
const BATCHES = 40;
const ORGANIZATIONS = ['acme', 'globex'];

interface Stored {
  line: CallLine;
  createdAt: Date;
  updatedAt: Date;
}

/** A model of the service in a few lines. It holds the calls that one organization must have after each batch. */
class Model {
  readonly calls = new Map<string, Stored>();

  /** Applies a line that was stored at `time`. @returns whether it changes anything */
  take(line: CallLine, time: Date): boolean {
    const before = this.calls.get(line.id);
    if (line['deleted']) return this.calls.delete(line.id);
    const createdAt = line['created_at'] ? new Date(line['created_at']) : (before?.createdAt ?? time);
    const now = { line, createdAt, updatedAt: time };
    if (before && allContent(before) === allContent(now)) return false;
    if (before && visibleContent(before) === visibleContent(now)) now.updatedAt = before.updatedAt;
    this.calls.set(line.id, now);
    return true;
  }

  /** Ids in the order of the list: newest first, then by descending id. */
  list(from: number, to: number, since = -Infinity): string[] {
    const within = [...this.calls.values()].filter((it) => +it.createdAt >= from && +it.createdAt < to && +it.updatedAt >= since);
    return within.sort((a, b) => +b.createdAt - +a.createdAt || (a.line.id < b.line.id ? 1 : -1)).map(({ line }) => line.id);
  }
}

/** The content of a call that decides its updated_at: what REST may show of it. */
const visibleContent = (it: Stored) =>
  JSON.stringify([detailOf(it.line, { ...it, updatedAt: new Date(0) }), it.line['anonymized_name'] ?? null]);
const notesOf = (line: CallLine): string[] =>
  (line['notes'] ?? []).map((it: { email: string; text: string }) => `${it.email} ${it.text}`).sort();
/** The content of a call that decides whether a line changes it. */
const allContent = (it: Stored) => visibleContent(it) + JSON.stringify([it.line['conducted_by'] ?? null, notesOf(it.line)]);

const random = randomFrom(SEED);
const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)]!;

// Timestamps around midnight in UTC and in other zones. The last two are the same millisecond.
const TIMESTAMPS = [
  '2025-03-01T23:59:59.999Z',
  '2025-03-02T00:00:00Z',
  '2025-03-02T12:34:56.789Z',
  '2025-03-02T23:30:00-03:30',
  '2024-02-29T00:00:00.000Z',
  '2025-03-04T05:29:59.9999+05:30',
  '2025-03-03T23:59:59.999Z',
];

/** A random value for one field of a call, or for a few. */
function randomField(stored: Stored | undefined): object {
  const note = (name: string) => ({ email: `${name}@crs.example`, text: pick('one', 'two') });
  return pick<() => object>(
    () => ({ created_at: pick(...TIMESTAMPS, undefined, undefined, stored?.createdAt.toISOString()) }),
    () => ({ summary: pick('', 'a', null, undefined) }),
    () => ({ transcript: pick<unknown>(null, 'words', [], [{ speaker: 'Ann', start_seconds: 0.5, text: 'words' }]) }),
    () => ({ rating: pick(1, 5), project_id: pick(PROJECT, null), segment: pick('x', 'y') }),
    () => ({ participants: [{ name: pick('Eva', 'Max') }] }),
    () => ({ anonymized_name: pick('Expert 1', null) }),
    () => ({ conducted_by: pick(null, 'ann@crs.example', 'bob@crs.example') }),
    () => ({ notes: pick([], [note('ann')], [note('ann'), note('bob')], [note('bob'), note('ann')]) }),
    () => ({ notes: stored?.line['notes']?.toReversed() }),
  )();
}

/** A random line for one of eight calls, often its stored line as it is or with one change. */
function randomLine(organization: string): CallLine {
  const id = `call-${pick(1, 2, 3, 4, 5, 6, 7, 8)}`;
  const stored = models.get(organization)!.calls.get(id);
  switch (pick('delete', 'repeat', 'change', 'change', 'write', 'write')) {
    case 'delete':
      return callLine(organization, id, { deleted: true });
    case 'repeat':
      return stored?.line ?? callLine(organization, id);
    case 'change':
      return { ...(stored?.line ?? callLine(organization, id)), ...randomField(stored) };
    default:
      return Object.assign(callLine(organization, id), ...Array.from({ length: pick(0, 2, 8) }, () => randomField(stored)));
  }
}

function randomBatch(organization: string): CallLine[] {
  const lines: CallLine[] = [];
  for (let i = pick(1, 4, 12); i > 0; i--)
    lines.push(pick(randomLine(organization), randomLine(organization), ...lines.slice(0, 1)));
  return lines;
}

const models = new Map(ORGANIZATIONS.map((id) => [id, new Model()]));
let world: OwnWorld;
let database: Session;
let keys: Map<string, string>;

beforeAll(async () => {
  world = await startWorld();
  database = await openSession(world.databaseUrl);
  // The rollup counts days in UTC, so another time zone of the server must not matter.
  await database.query(
    `do $$ begin execute format('alter database %I set timezone = ''America/St_Johns''', current_database()); end $$`,
  );
  await world.load(ORGANIZATIONS.flatMap((id) => tenantRecords(id)));
  keys = new Map(await Promise.all(ORGANIZATIONS.map(async (id) => [id, await world.createKey(id)] as const)));
});
afterAll(async () => {
  await database?.close();
  await world?.close();
});

/** Applies a batch to the service and to the model. */
async function applyToBoth(organization: string, lines: CallLine[]): Promise<void> {
  const model = models.get(organization)!;
  // updated_at must differ between batches, because the changes of this one are found by it.
  await sleep(2);
  const earliest = new Date();
  const { accepted, unchanged, refused } = await sendBatch(world, organization, lines);
  const [row] = await database.query<{ times: Date[] }>(
    'select array_agg(distinct updated_at) as times from calls.calls where organization = $1 and updated_at >= $2',
    [organization, earliest],
  );
  const times = row?.times ?? [];
  expect(times.length, 'all changes of a batch have the same time').toBeLessThanOrEqual(1);
  const time = times[0] ?? earliest;
  expect(+time).toBeLessThanOrEqual(Date.now());
  const changed = lines.filter((line) => model.take(line, time)).length;
  expect({ accepted, unchanged, refused }).toEqual({ accepted: changed, unchanged: lines.length - changed, refused: [] });
}

async function compareRows(organization: string): Promise<void> {
  const rows = await database.query(
    `select call_id as id, created_at, updated_at,
        (select email from auth.users u where u.organization = c.organization and u.user_id = c.conducted_by) as conducted_by,
        array(select u.email || ' ' || n.text from calls.notes n join auth.users u using (organization, user_id)
          where n.organization = c.organization and n.call_id = c.call_id order by 1) as notes
      from calls.calls c where organization = $1 order by call_id`,
    [organization],
  );
  const expected = [...models.get(organization)!.calls.values()].map(({ line, createdAt, updatedAt }) => ({
    id: line.id,
    created_at: createdAt,
    updated_at: updatedAt,
    conducted_by: line['conducted_by'] ?? null,
    notes: notesOf(line),
  }));
  expect(rows).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
}

async function compareRollup(): Promise<void> {
  const days = await database.query(
    'select organization, day::text, calls from calls.call_days where calls <> 0 order by organization collate "C", call_days.day',
  );
  const counted = [...models].flatMap(([organization, { calls }]) =>
    [...Map.groupBy(calls.values(), (it) => it.createdAt.toISOString().slice(0, 10))]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([day, of]) => ({ organization, day, calls: of.length })),
  );
  expect(days).toEqual(counted);
}

async function compareDetails(organization: string, ids: Set<string>): Promise<void> {
  for (const id of ids) {
    const stored = models.get(organization)!.calls.get(id);
    const { status, json } = await world.rest(`/v1/calls/${id}`, { key: keys.get(organization) });
    expect(status).toBe(stored ? 200 : 404);
    if (stored) expect(json).toEqual(detailOf(stored.line, stored));
  }
}

async function compareList(organization: string): Promise<void> {
  const edges = [...TIMESTAMPS, '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2025-03-02T18:00:00Z'];
  const [from, to] = [pick(...edges), pick(...edges)].map((it) => Date.parse(it)).sort((a, b) => a - b) as [number, number];
  if (from === to) return;
  const stored = [...models.get(organization)!.calls.values()];
  const since = pick(undefined, undefined, ...stored.map(({ updatedAt }) => updatedAt));
  const size = pick(1, 2, 3, 50);
  const wanted = models.get(organization)!.list(from, to, since && +since);
  for (const page of [1, 2, 3]) {
    const range = {
      start_date: new Date(from).toISOString(),
      end_date: new Date(to).toISOString(),
      ...(since && { updated_since: since.toISOString() }),
    };
    const query = new URLSearchParams({ ...range, page: String(page), per_page: String(size) }).toString();
    const { json } = await world.rest(`/v1/calls?${query}`, { key: keys.get(organization) });
    const ids = json.data.map((it: { call_id: string }) => it.call_id);
    expect(ids, query).toEqual(wanted.slice((page - 1) * size, page * size));
    expect(json.pagination.total_items, query).toBe(wanted.length);
  }
}

describe('imports', () => {
  it(`leave the same rows, rollup and REST responses as a model of the service, after ${BATCHES} random batches (CRS_TEST_SEED=${SEED})`, async () => {
    for (let batch = 0; batch < BATCHES; batch++) {
      const organization = pick(...ORGANIZATIONS);
      const lines = randomBatch(organization);
      await applyToBoth(organization, lines);
      for (const each of ORGANIZATIONS) await compareRows(each);
      await compareRollup();
      await compareDetails(organization, new Set(lines.map(({ id }) => id)));
      for (const each of ORGANIZATIONS) await compareList(each);
    }
  });
});
