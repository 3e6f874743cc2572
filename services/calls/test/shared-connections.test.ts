import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { openSession } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';

const CONNECTIONS = 4;
const NOW = { name: 'now', text: 'select 1' };

let database: Database;

beforeAll(async () => {
  const log = createLogger('test', { level: 'silent' });
  database = new Database({ name: 'test', url: inject('postgresUrl'), maxConnections: CONNECTIONS, log, pipeline: true });
  const open = ['a', 'b', 'c', 'd'].map((organization) => database.read(scope(organization), sleep(0.2)));
  await Promise.all(open);
});
afterAll(() => database?.close());

const scope = (organization: string, ms = 10_000) => credentialScope(organization, workFor(ms));
const sleep = (seconds: number) => ({ name: 'sleep', text: 'select pg_sleep($1)', values: [seconds] });

it('one tenant gets at most half of the connections, so that the statement of another runs at once', async () => {
  const locks = await openSession(inject('postgresUrl'));
  await locks.query('select pg_advisory_lock(1)');
  const blocked = () => locks.query(`select 1 from pg_locks where locktype = 'advisory' and not granted and objid = 1`);
  const slow = Array.from({ length: 6 }, () =>
    database.read(scope('acme'), { name: 'wait', text: 'select pg_advisory_xact_lock_shared(1)' }),
  );
  await vi.waitFor(async () => expect(await blocked()).toHaveLength(CONNECTIONS / 2), { timeout: 5_000 });
  // It would wait for the lock, too, if the others had all connections.
  await database.read(scope('other'), NOW);
  expect(await blocked()).toHaveLength(CONNECTIONS / 2);
  await locks.close();
  await Promise.all(slow);
});

it('a tenant with one statement does not wait for all statements of busy tenants', async () => {
  let done = 0;
  const crowds = ['acme', 'beta'].flatMap((organization) =>
    Array.from({ length: 100 }, () => database.read(scope(organization), sleep(0.02)).finally(() => done++)),
  );
  await database.read(scope('other'), NOW);
  expect(done).toBeLessThan(50);
  await Promise.all(crowds);
});

it('at most 2,000 statements of a tenant wait, and the rest is refused at once', async () => {
  const crowd = Array.from({ length: 2_100 }, () => database.read(scope('acme'), NOW));
  const outcomes = await Promise.allSettled(crowd);
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(refused).toHaveLength(2_100 - CONNECTIONS / 2 - 2_000);
  for (const { reason } of refused) expect(reason).toMatchObject({ kind: 'resource_exhausted', reason: 'OVERLOADED' });
});

it('a slow statement fails with SLOW_WORK, unlike a silent server', async () => {
  // The server cancels 20 ms before the deadline. A busy machine may take longer than that to hear of it.
  await vi.waitFor(
    () =>
      expect(database.read(scope('acme', 300), sleep(2))).rejects.toMatchObject({
        kind: 'deadline_exceeded',
        reason: 'SLOW_WORK',
      }),
    { timeout: 20_000 },
  );
});
