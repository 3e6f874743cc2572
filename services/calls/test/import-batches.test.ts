import { setTimeout as sleep } from 'node:timers/promises';
import { lockWaiter } from '@crs/testing/hold';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callLine, sendBatch, tenantRecords, type CallLine } from './_records.ts';

const MIB = 1024 * 1024;

let world: OwnWorld;
let database: Session;
let locks: Session;

beforeAll(async () => {
  world = await startWorld();
  database = await openSession(world.databaseUrl);
  locks = await openSession(world.databaseUrl);
  await world.load(['acme', 'globex', 'large', 'shared'].flatMap((id) => tenantRecords(id)));
});
afterAll(async () => {
  await database?.close();
  await locks?.close();
  await world?.close();
});

/** A call with rows in every table. */
const full = (organization: string, id: string, text = 'first', day = 1): CallLine =>
  callLine(organization, id, {
    created_at: `2025-03-0${day}T10:00:00Z`,
    summary: text,
    transcript: text,
    redacted_transcript: [{ text }],
    notes: [{ email: 'ann@crs.example', text }],
  });

/** All stored rows of an organization. */
async function everything(organization: string): Promise<unknown[][]> {
  const stored = [];
  for (const table of ['calls', 'notes', 'call_days']) {
    stored.push(await database.query(`select * from calls.${table} where organization = $1 order by 2, 3`, [organization]));
  }
  return stored;
}

/** The days whose count in the rollup differs from the number of stored calls. */
async function rollupErrors(): Promise<unknown[]> {
  return database.query(
    `select organization, day::text, coalesce(d.calls, 0) - coalesce(c.calls, 0) as off from calls.call_days d full join (
        select organization, (created_at at time zone 'UTC')::date as day, count(*)::int as calls from calls.calls group by 1, 2
      ) c using (organization, day) where coalesce(d.calls, 0) <> coalesce(c.calls, 0)`,
  );
}

/** Waits until an import waits for a lock. @returns the id of its server process */
const waitingImport = () => lockWaiter(world.databaseUrl, 'crs-calls-import');

describe('a batch', () => {
  it('has at most 1,000 lines', async () => {
    const lines = Array.from({ length: 1001 }, (_, i) => callLine('large', `call-${i}`));
    await expect(sendBatch(world, 'large', lines)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'lines' });
    expect(await everything('large')).toEqual([[], [], []]);
    expect(await sendBatch(world, 'large', lines.slice(1))).toEqual({ accepted: 1000, unchanged: 0, refused: [] });
  });

  it('has at most 16 MiB', async () => {
    const empty = JSON.stringify(callLine('large', 'huge', { summary: '' }));
    const line = (bytes: number) => empty.replace('""', `"${'x'.repeat(bytes - empty.length)}"`);
    const tooLarge = [line(8 * MIB), line(8 * MIB), 'x'];
    await expect(sendBatch(world, 'large', tooLarge)).rejects.toMatchObject({ kind: 'invalid_argument', field: 'lines' });
    expect(await sendBatch(world, 'large', tooLarge.slice(0, 2))).toEqual({ accepted: 1, unchanged: 1, refused: [] });
    const [row] = await database.query(
      `select length(substring(detail_json from '"summary":"(x*)"')) as length from calls.calls where call_id = 'huge'`,
    );
    expect(row).toEqual({ length: 8 * MIB - empty.length });
  });

  it('with a line of more than 8 MiB is stored without that line', async () => {
    const line = JSON.stringify(callLine('large', 'longest', { summary: 'x' })).padEnd(8 * MIB, ' ');
    expect(await sendBatch(world, 'large', [`${line} `, callLine('large', 'other')])).toEqual({
      accepted: 1,
      unchanged: 0,
      refused: ['1: : must be at most 8 MiB long'],
    });
    expect(await sendBatch(world, 'large', [line])).toEqual({ accepted: 1, unchanged: 0, refused: [] });
  });
});

describe('an import that fails midway', () => {
  const change = [full('acme', 'kept', 'second', 2), full('acme', 'new'), callLine('acme', 'gone', { deleted: true })];
  let before: unknown[][];

  beforeAll(async () => {
    await sendBatch(world, 'acme', [full('acme', 'kept'), full('acme', 'gone')]);
    before = await everything('acme');
  });

  it.each(['calls', 'notes', 'call_days'])('because it may not write to %s changes nothing', async (table) => {
    await database.query(`revoke insert, update on calls.${table} from crs_calls`);
    try {
      await expect(sendBatch(world, 'acme', change)).rejects.toMatchObject({
        kind: 'internal',
        message: 'An unexpected error occurred.',
      });
    } finally {
      await database.query(`grant insert, update on calls.${table} to crs_calls`);
    }
    expect(await everything('acme')).toEqual(before);
  });

  it('because the server ends its connection changes nothing, and the next import works', async () => {
    await locks.query('begin');
    await locks.query('lock table calls.call_days in exclusive mode');
    const answer = expect(sendBatch(world, 'acme', change)).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 1 });
    await database.query('select pg_terminate_backend($1::int)', [await waitingImport()]);
    await answer;
    await locks.query('commit');
    expect(await everything('acme')).toEqual(before);
    expect(await rollupErrors()).toEqual([]);
    expect(await sendBatch(world, 'acme', change)).toEqual({ accepted: 3, unchanged: 0, refused: [] });
    expect(await rollupErrors()).toEqual([]);
  });
});

it('an unchanged line rewrites its call only if the stored texts have the format of an earlier version', async () => {
  const again = () => sendBatch(world, 'acme', [full('acme', 'reformatted')]);
  const texts = () => database.query(`select detail_json, record_hash, line_hash from calls.calls where call_id = 'reformatted'`);
  await again();
  const before = await texts();
  expect(await again()).toMatchObject({ accepted: 0, unchanged: 1 });
  // A hash of the line alone, without the version of the format.
  const earlier = 'line_hash = substring(line_hash for 32)';
  await database.query(
    `update calls.calls set ${earlier}, detail_json = 'as before', record_hash = '' where call_id = 'reformatted'`,
  );
  expect(await again()).toMatchObject({ accepted: 1, unchanged: 0 });
  expect((await texts()).map((row) => ({ ...(row as object), detail_json: undefined }))).toEqual(
    before.map((row) => ({ ...(row as object), detail_json: undefined })),
  );
  expect(await again()).toMatchObject({ accepted: 0, unchanged: 1 });
});

describe('concurrent imports', () => {
  it('of the same calls in different orders leave each call as exactly one of its lines, and the rollup exact', async () => {
    const ids = Array.from({ length: 30 }, (_, i) => `call-${i}`);
    const rounds = Array.from({ length: 8 }, (_, i) => i);
    const send = async (organization: string, client: string, order: string[]) => {
      for (const round of rounds) {
        const lines = order.map((id, i) =>
          (round + i) % 7 === 0
            ? callLine(organization, id, { deleted: true })
            : full(organization, id, `${client} ${round}`, 1 + ((round + i) % 5)),
        );
        expect(await sendBatch(world, organization, lines)).toMatchObject({ refused: [] });
      }
    };
    await Promise.all([
      send('shared', 'one', ids),
      send('shared', 'two', ids.toReversed()),
      send(
        'shared',
        'three',
        ids.toSorted((a, b) => Number(a.endsWith('3')) - Number(b.endsWith('3'))),
      ),
      send('globex', 'four', ids),
    ]);
    expect(await rollupErrors()).toEqual([]);
    const rows = await database.query<{ summary: string; texts: string[]; notes: string[] }>(
      `select substring(detail_json from '"summary":"([^"]*)"') as summary, array[verbatim::json #>> '{}', redacted::json #>> '{}'] as texts,
          array(select text from calls.notes n where (n.organization, n.call_id) = (c.organization, c.call_id)) as notes
        from calls.calls c where organization in ('shared', 'globex')`,
    );
    expect(rows.length).toBeGreaterThan(30);
    for (const { summary, texts, notes } of rows)
      expect({ texts, notes }).toEqual({ texts: [summary, summary], notes: [summary] });
  });

  it('stage their calls at the same time, before they wait for each other to write', async () => {
    await locks.query('begin');
    await locks.query(`select pg_advisory_xact_lock(hashtextextended('calls.import:' || 'shared', 0))`);
    const answers = ['staged-1', 'staged-2'].map((id) => sendBatch(world, 'shared', [full('shared', id)]));
    // A transaction that has written nothing has no id yet.
    const waiting = `select a.backend_xid is not null as wrote from pg_stat_activity a join pg_locks l using (pid)
      where a.datname = current_database() and l.locktype = 'advisory' and not l.granted`;
    await vi.waitFor(async () => expect(await database.query(waiting)).toEqual([{ wrote: true }, { wrote: true }]), 10_000);
    await locks.query('commit');
    for (const answer of answers) expect(await answer).toMatchObject({ accepted: 1 });
  });

  it('set updated_at to the time of the write, not of the request', async () => {
    await locks.query('begin');
    await locks.query(`select pg_advisory_xact_lock(hashtextextended('calls.import:' || 'shared', 0))`);
    const answer = sendBatch(world, 'shared', [full('shared', 'late')]);
    await waitingImport();
    await sleep(50);
    const unlocked = Date.now();
    await locks.query('commit');
    expect(await answer).toMatchObject({ accepted: 1 });
    const [row] = await database.query<{ updated_at: Date }>(`select updated_at from calls.calls where call_id = 'late'`);
    expect(+row!.updated_at).toBeGreaterThanOrEqual(unlocked);
  });

  it('of one organization do not wait for those of another', async () => {
    await locks.query('begin');
    await locks.query(`select pg_advisory_xact_lock(hashtextextended('calls.import:' || 'shared', 0))`);
    const waits = sendBatch(world, 'shared', [full('shared', 'waits')]);
    await waitingImport();
    expect(await sendBatch(world, 'globex', [full('globex', 'does-not-wait')])).toMatchObject({ accepted: 1 });
    await locks.query('commit');
    expect(await waits).toMatchObject({ accepted: 1 });
  });
});
