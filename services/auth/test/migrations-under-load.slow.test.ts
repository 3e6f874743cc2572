import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '@crs/kit/data/migrate';
import { buildIndex, type Migration } from '@crs/kit/data/migration';
import type { TestDatabase } from '@crs/testing/postgres';
import { migrations } from '../migrations/index.ts';
import { emptyDatabase, query } from './_fixtures.ts';

let database: TestDatabase;
const clients: Client[] = [];
beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
  await database.drop();
});

async function connect(name: string): Promise<Client> {
  const client = new Client({ connectionString: database.url, application_name: name });
  client.on('error', () => {});
  await client.connect();
  clients.push(client);
  return client;
}

const step = (up: Migration['up'], more: Partial<Migration> = {}): Migration => ({
  name: '29990101T000000-change-users',
  up,
  down: async () => {},
  ...more,
});
/** A step that may not be retried runs once: it waits a second for its locks. */
const up = (last: Migration, lockRetryMs?: number) =>
  migrate({ adminUrl: database.url, service: 'auth', migrations: [...migrations, last], lockRetryMs });
const addColumn = step((db) => db.raw('alter table auth.users add column later integer'));

/** The statements of the migration that wait for a lock, and how many seconds each has waited. */
const waiting = () =>
  query<{ seconds: number }>(
    database.url,
    `select extract(epoch from clock_timestamp() - query_start)::float8 as seconds from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ~ '^(alter|create)'`,
  );

/** Takes the locks that pg_dump holds from its first to its last row. */
async function dump(): Promise<Client> {
  const client = await connect('pg_dump');
  await client.query('begin isolation level repeatable read read only');
  await client.query('lock table auth.organizations, auth.users in access share mode');
  return client;
}

describe('a step that needs a lock which pg_dump holds', () => {
  it('blocks readers only briefly, and completes once the dump has ended', async () => {
    const dumping = await dump();
    let done = false;
    const migrated = up(addColumn).finally(() => (done = true));
    const reader = await connect('reader');
    let slowest = 0;
    const read = async () => {
      const started = Date.now();
      await reader.query('select count(*) from auth.users');
      return (slowest = Math.max(slowest, Date.now() - started));
    };
    await expect.poll(read, { interval: 10 }).toBeGreaterThan(200);
    expect(done).toBe(false);
    expect(slowest).toBeLessThan(4_000);
    await dumping.query('commit');
    expect(await migrated).toEqual([addColumn.name]);
  });

  it('fails with an error that names the holder of the lock, and succeeds on the next run', async () => {
    const dumping = await dump();
    await expect(up(addColumn, 1)).rejects.toThrow(
      /^The migration auth\/29990101T000000-change-users waits for a lock that pg_dump \(pid \d+, role \w+, for 0 min\) holds\. Wait until that has ended, or end it, then start again\.$/,
    );
    await dumping.query('commit');
    expect(await up(addColumn)).toEqual([addColumn.name]);
  });
});

describe('an index that is built outside a transaction', () => {
  const index = step((db) => buildIndex(db, 'auth', 'throttles_by_tries', 'auth.throttles (tries)'), {
    outsideTransaction: true,
  });
  const states = () =>
    query<{ valid: boolean }>(
      database.url,
      `select indisvalid as valid from pg_index where indexrelid = to_regclass('auth.throttles_by_tries')`,
    );
  const insert = (client: Client) =>
    client.query(`insert into auth.throttles values (gen_random_uuid()::text::bytea, 1, now() + interval '1 hour')`);
  /** Starts to build the index, which waits for a transaction that has written. */
  async function startToBuild() {
    const writer = await connect('writer');
    await writer.query('begin');
    await insert(writer);
    const built = up(index).catch((error: unknown) => error);
    await expect.poll(states, { timeout: 10_000 }).toEqual([{ valid: false }]);
    return { writer, built };
  }

  it('lets others write meanwhile, and waits for a lock longer than other steps do', async () => {
    const { writer, built } = await startToBuild();
    const other = await connect('other');
    // Other steps give up after a second.
    await expect.poll(async () => (await waiting())[0]?.seconds).toBeGreaterThan(1.5);
    const started = Date.now();
    await insert(other);
    expect(Date.now() - started).toBeLessThan(1_000);
    expect(await states()).toEqual([{ valid: false }]);
    await writer.query('commit');
    expect(await built).toEqual([index.name]);
    expect(await states()).toEqual([{ valid: true }]);
  });

  it('is rebuilt after an interrupted run, even by several runs at once', async () => {
    const { writer, built } = await startToBuild();
    await query(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and pid <> pg_backend_pid() and application_name <> 'writer'`,
    );
    expect(await built).toBeInstanceOf(Error);
    expect(await states()).toEqual([{ valid: false }]);
    await writer.query('commit');
    const ran = await Promise.all([up(index), up(index), up(index)]);
    expect(ran.flat()).toEqual([index.name]);
    expect(await states()).toEqual([{ valid: true }]);
  });
});
