import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '@crs/kit/data/migrate';
import { buildIndex, type Migration } from '@crs/kit/data/migration';
import { INHERITED } from '@crs/testing/inherited';
import { openSession } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { migrations } from '../migrations/index.ts';
import { callLine, sendBatch, tenantRecords } from './_records.ts';

// An upgrade migrates the schema while a backup runs and the service handles requests.

const SERVER = 18;
const PROGRAM = process.env['PG_DUMP'] ?? 'pg_dump';
const version = /\) (\d+)/.exec(spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1];
/** Without a pg_dump at least as new as the server, which it would refuse, the tests take the locks of one. */
const hasPgDump = Number(version ?? 0) >= SERVER;
const DUMP = hasPgDump
  ? `pg_dump ${version}`
  : `a transaction with the locks of pg_dump (version ${SERVER} is not installed here)`;

const ACME = 'acme';
let world: OwnWorld;
let key: string;
beforeAll(async () => {
  world = await startWorld();
  const calls = [ACME, 'globex'].map((id) => callLine(id, 'call-1', { created_at: '2025-03-01T00:00:00Z' }));
  await world.load([...tenantRecords(ACME), ...tenantRecords('globex'), ...calls]);
  key = await world.createKey(ACME);
  // More than a pipe buffers, so pg_dump blocks until its output is read.
  await world.query(`create table public.filler as select repeat('x', 8 * 1024 * 1024) as text`);
});
afterAll(() => world?.close());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

/** Starts a dump, which holds its locks until `finish` is called. */
async function dump(): Promise<{ finish(): Promise<void> }> {
  if (!hasPgDump) {
    const session = await openSession(world.databaseUrl);
    cleanups.push(() => session.close());
    await session.query(`set application_name = 'pg_dump'`);
    await session.query('begin isolation level repeatable read read only');
    // The first statement takes the snapshot.
    const [found] = await session.query<{ tables: string }>(
      `select string_agg(c.oid::regclass::text, ', ') as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and n.nspname !~ '^(pg_|information_schema$)'`,
    );
    await session.query(`lock table ${found!.tables} in access share mode`);
    return { finish: async () => void (await session.query('commit')) };
  }
  const child = spawn(PROGRAM, ['--dbname', world.databaseUrl], { env: INHERITED, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  cleanups.push(() => child.kill());
  // Its output isn't read until `finish`, so pg_dump blocks and keeps its locks.
  const holds = () =>
    world.query(`select 1 from pg_stat_activity a join pg_locks l using (pid)
      where application_name = 'pg_dump' and l.relation = 'calls.calls'::regclass and l.granted`);
  await expect.poll(async () => (await holds()).rows, { timeout: 20_000 }).toHaveLength(1);
  return {
    finish: async () => {
      let end = '';
      for await (const part of child.stdout) end = `${end}${String(part)}`.slice(-200);
      expect(await exited).toEqual([0, null]);
      expect(end).toContain('PostgreSQL database dump complete');
    },
  };
}

/** Reads and writes calls until `stop` is called. Counts the requests, and records failures and the milliseconds of the slowest one. */
function sendRequests() {
  const stats = { count: 0, failed: [] as string[], slowest: 0 };
  let sending = true;
  const timed = async (what: string, request: () => Promise<boolean>) => {
    const started = performance.now();
    const done = await request().catch(() => false);
    stats.count++;
    stats.slowest = Math.max(stats.slowest, performance.now() - started);
    if (!done) stats.failed.push(what);
  };
  const read = (path: string) => async () => (await world.rest(`/v1${path}`, { key })).status === 200;
  const write = async (n: number) =>
    void (await sendBatch(world, ACME, [
      callLine(ACME, `call-${n % 7}`, { created_at: '2025-03-01T00:00:00Z', summary: `${n}` }),
    ]));
  const rounds = async () => {
    for (let n = 0; sending; n++) {
      await Promise.all([
        timed('list', read('/calls?start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z')),
        timed('detail', read('/calls/call-1')),
        timed('changes', read('/changes')),
        timed('import', async () => (await write(n), true)),
      ]);
      await sleep(50);
    }
  };
  const done = rounds();
  const stop = async () => {
    sending = false;
    await done;
    return stats;
  };
  cleanups.push(stop);
  return { stats, stop };
}

const step = (name: string, up: Migration['up'], more: Partial<Migration> = {}): Migration => ({
  name: `29990101T000000-${name}`,
  up,
  down: async () => {},
  ...more,
});
let attempts = 0;
const addColumn = step('add-column', (db) => {
  attempts++;
  return db.raw('alter table calls.calls add column later integer');
});
const addIndex = step('add-index', (db) => buildIndex(db, 'calls', 'calls_later', 'calls.calls (organization, later)'), {
  outsideTransaction: true,
});
const up = (lockRetryMs?: number) =>
  migrate({ adminUrl: world.databaseUrl, service: 'calls', migrations: [...migrations, addColumn, addIndex], lockRetryMs });

it(`${DUMP} delays a migration, but no request fails`, async () => {
  // Earlier than the requests, because the error names the oldest transaction.
  const dumping = await dump();
  const requests = sendRequests();
  // With 1 ms to retry, the migration fails after its first attempt.
  await expect(up(1)).rejects.toThrow(
    /^The migration calls\/29990101T000000-add-column waits for a lock that pg_dump \(pid \d+, role \w+, for 0 min\) holds\./,
  );
  const migrated = up();
  await expect.poll(() => attempts).toBe(3);
  await dumping.finish();
  expect(await migrated).toEqual([addColumn.name, addIndex.name]);
  const { count, failed, slowest } = await requests.stop();
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(12);
  // Requests queue behind each attempt of the migration, which waits for its lock for a second.
  expect(slowest).toBeGreaterThan(500);
  expect(slowest).toBeLessThan(4_000);
});

it(`${DUMP} delays the creation of an index, but no request`, async () => {
  await world.query(`drop index calls.calls_later; delete from calls.migrations where name = '${addIndex.name}'`);
  const requests = sendRequests();
  const dumping = await dump();
  const migrated = up();
  const waiting = `select phase from pg_stat_progress_create_index where datname = current_database()`;
  await expect.poll(async () => (await world.query(waiting)).rows).toEqual([{ phase: 'waiting for old snapshots' }]);
  const before = requests.stats.count;
  await expect.poll(() => requests.stats.count).toBeGreaterThan(before + 12);
  expect((await world.query(waiting)).rows).toHaveLength(1);
  await dumping.finish();
  expect(await migrated).toEqual([addIndex.name]);
  const { failed, slowest } = await requests.stop();
  expect(failed).toEqual([]);
  expect(slowest).toBeLessThan(2_000);
});
