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

// A backup runs while an upgrade migrates the schema of a service that has requests.

const SERVER = 18;
const PROGRAM = process.env['PG_DUMP'] ?? 'pg_dump';
const version = /\) (\d+)/.exec(spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1];
/** A pg_dump refuses servers that are newer than itself. */
const isReal = Number(version ?? 0) >= SERVER;
const DUMP = isReal ? `pg_dump ${version}` : `a transaction with the locks of pg_dump (of version ${SERVER} there is none here)`;

const ACME = 'acme';
let world: OwnWorld;
let key: string;
beforeAll(async () => {
  world = await startWorld();
  const calls = [ACME, 'globex'].map((id) => callLine(id, 'call-1', { created_at: '2025-03-01T00:00:00Z' }));
  await world.load([...tenantRecords(ACME), ...tenantRecords('globex'), ...calls]);
  key = await world.createKey(ACME);
  // More than a pipe takes.
  await world.query(`create table public.filler as select repeat('x', 8 * 1024 * 1024) as text`);
});
afterAll(() => world?.close());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

/** Holds the locks of a dump until `finish`. */
async function dump(): Promise<{ finish(): Promise<void> }> {
  if (!isReal) {
    const session = await openSession(world.databaseUrl);
    cleanups.push(() => session.close());
    await session.query(`set application_name = 'pg_dump'`);
    await session.query('begin isolation level repeatable read read only');
    // Takes the snapshot.
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
  // Nobody reads, so it waits with its locks until somebody does.
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

/** Reads and writes calls until `stop`, and counts the requests, their failures, and the milliseconds of the slowest one. */
function sendRequests() {
  const seen = { count: 0, failed: [] as string[], slowest: 0 };
  let sending = true;
  const timed = async (what: string, request: () => Promise<boolean>) => {
    const started = performance.now();
    const done = await request().catch(() => false);
    seen.count++;
    seen.slowest = Math.max(seen.slowest, performance.now() - started);
    if (!done) seen.failed.push(what);
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
    return seen;
  };
  cleanups.push(stop);
  return { seen, stop };
}

const step = (name: string, up: Migration['up'], more: Partial<Migration> = {}): Migration => ({
  name: `29990101T000000-${name}`,
  up,
  down: async () => {},
  ...more,
});
let tries = 0;
const addColumn = step('add-column', (db) => {
  tries++;
  return db.raw('alter table calls.calls add column later integer');
});
const addIndex = step('add-index', (db) => buildIndex(db, 'calls', 'calls_later', 'calls.calls (organization, later)'), {
  outsideTransaction: true,
});
const up = (lockRetryMs?: number) =>
  migrate({ adminUrl: world.databaseUrl, service: 'calls', migrations: [...migrations, addColumn, addIndex], lockRetryMs });

it(`${DUMP} makes a migration wait, but no request`, async () => {
  const requests = sendRequests();
  const dumping = await dump();
  // The first try ends later than this.
  await expect(up(1)).rejects.toThrow(
    /^The migration calls\/29990101T000000-add-column waits for a lock that pg_dump \(pid \d+, role \w+, for 0 min\) holds\./,
  );
  const migrated = up();
  await expect.poll(() => tries).toBe(3);
  await dumping.finish();
  expect(await migrated).toEqual([addColumn.name, addIndex.name]);
  const { count, failed, slowest } = await requests.stop();
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(12);
  // Requests waited behind the step, which tries for a second at a time.
  expect(slowest).toBeGreaterThan(500);
  expect(slowest).toBeLessThan(4_000);
});

it(`${DUMP} makes an index wait, but no request`, async () => {
  await world.query(`drop index calls.calls_later; delete from calls.migrations where name = '${addIndex.name}'`);
  const requests = sendRequests();
  const dumping = await dump();
  const migrated = up();
  const waiting = `select phase from pg_stat_progress_create_index where datname = current_database()`;
  await expect.poll(async () => (await world.query(waiting)).rows).toEqual([{ phase: 'waiting for old snapshots' }]);
  const before = requests.seen.count;
  await expect.poll(() => requests.seen.count).toBeGreaterThan(before + 12);
  expect((await world.query(waiting)).rows).toHaveLength(1);
  await dumping.finish();
  expect(await migrated).toEqual([addIndex.name]);
  const { failed, slowest } = await requests.stop();
  expect(failed).toEqual([]);
  expect(slowest).toBeLessThan(2_000);
});
