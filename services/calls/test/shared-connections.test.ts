import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

const CONNECTIONS = 4;
const NOW = { name: 'now', text: 'select 1' };
const LOCK = 4712;
/** Waits until `locks` gives the lock up. */
const BLOCKED = { name: 'blocked', text: `select pg_advisory_xact_lock_shared(${LOCK})` };

let database: Database;
let locks: Session;

beforeAll(async () => {
  const log = createLogger('test', { level: 'silent' });
  database = new Database({ name: 'test', url: inject('postgresUrl'), maxConnections: CONNECTIONS, log, pipeline: true });
  locks = await openSession(inject('postgresUrl'));
});
afterAll(async () => {
  await locks?.close();
  await database?.close();
});

// So long that work neither ends nor gives up waiting by its deadline, however busy the machine is.
const DEADLINE_MS = 60_000;
const scope = (organization: string) => credentialScope(organization, workFor(DEADLINE_MS));
const block = () => locks.query(`select pg_advisory_lock(${LOCK})`);
const release = () => locks.query(`select pg_advisory_unlock(${LOCK})`);
/** The statements that wait. */
const blocked = () => locks.query(`select 1 from pg_locks where locktype = 'advisory' and not granted and objid = ${LOCK}`);

it('one tenant gets at most half of the connections, so that the statement of another runs at once', async () => {
  await block();
  const slow = Array.from({ length: 6 }, () => database.read(scope('acme'), BLOCKED));
  await expect.poll(blocked).toHaveLength(CONNECTIONS / 2);
  // It would wait for the lock, too, if the others had all connections.
  await database.read(scope('other'), NOW);
  expect(await blocked()).toHaveLength(CONNECTIONS / 2);
  await release();
  await Promise.all(slow);
});

it('a tenant with one statement does not wait for all statements of busy tenants', async () => {
  let done = 0;
  const crowds = ['acme', 'beta'].flatMap((organization) =>
    Array.from({ length: 100 }, () => database.read(scope(organization), NOW).finally(() => done++)),
  );
  await database.read(scope('other'), NOW);
  expect(done).toBeLessThan(50);
  await Promise.all(crowds);
});

it('at most 2,000 statements of a tenant wait, and the rest is refused at once', async () => {
  const controller = new AbortController();
  const limited = { ...workFor(DEADLINE_MS), signal: controller.signal };
  const crowd = Array.from({ length: 2_100 }, () => database.read(credentialScope('acme', limited), NOW));
  // Nothing has run yet, so whatever isn't refused waits or is about to run.
  controller.abort();
  const outcomes = (await Promise.allSettled(crowd)).map((outcome) => outcome.status === 'rejected' && outcome.reason);
  const refused = outcomes.filter(({ kind, reason }) => kind === 'resource_exhausted' && reason === 'OVERLOADED');
  expect(refused).toHaveLength(2_100 - CONNECTIONS / 2 - 2_000);
  expect(outcomes.filter(({ kind }) => kind === 'deadline_exceeded')).toHaveLength(2_000 + CONNECTIONS / 2);
});

it('a slow statement fails with SLOW_WORK, unlike a silent server', async () => {
  const limits: number[] = [];
  // The server cancels 20 ms before the deadline, and a busy machine hears of it later than that. So the server cancels much earlier here.
  const stop = interceptStatements((statement) => {
    const [, limit] = /statement_timeout = (\d+)/.exec(statement.text) ?? [];
    if (limit === undefined) return statement;
    limits.push(Number(limit));
    return { ...statement, text: statement.text.replace(limit, '50') };
  });
  await block();
  try {
    const failure = { kind: 'deadline_exceeded', reason: 'SLOW_WORK' };
    await expect(database.read(scope('acme'), BLOCKED)).rejects.toMatchObject(failure);
  } finally {
    stop();
    await release();
  }
  expect(limits.filter((ms) => ms > DEADLINE_MS / 2 && ms <= DEADLINE_MS - 20)).not.toEqual([]);
});
