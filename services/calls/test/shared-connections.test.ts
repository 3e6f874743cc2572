import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

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

/** @returns the milliseconds that the work took */
async function time(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

it('one tenant gets at most half of the connections, so that the statement of another runs at once', { retry: 2 }, async () => {
  const slow = Array.from({ length: 6 }, () => time(database.read(scope('acme'), sleep(0.5))));
  expect(await time(database.read(scope('other'), NOW))).toBeLessThan(400);
  const times = (await Promise.all(slow)).toSorted((a, b) => a - b);
  // Two statements run at a time.
  expect(times[1]).toBeLessThan(950);
  expect(times[2]).toBeGreaterThan(950);
  expect(times[4]).toBeGreaterThan(1_450);
});

it('a tenant with one statement does not wait for all statements of busy tenants', { retry: 2 }, async () => {
  const crowds = ['acme', 'beta'].flatMap((organization) =>
    Array.from({ length: 100 }, () => database.read(scope(organization), sleep(0.05))),
  );
  expect(await time(database.read(scope('other'), NOW))).toBeLessThan(500);
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
  await expect(database.read(scope('acme', 300), sleep(2))).rejects.toMatchObject({
    kind: 'deadline_exceeded',
    reason: 'SLOW_WORK',
  });
});
