import { Database } from '@crs/kit/data/database';
import { credentialScope, workFor } from '@crs/kit/data/scope';
import { createLogger } from '@crs/kit/process/log';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';

const CONNECTIONS = 4;
const NOW = { name: 'now', text: 'select 1' };
const LOCK = 4712;
/** Waits until `locks` releases the lock. */
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

// Long enough that no statement reaches its deadline, however busy the machine is.
const DEADLINE_MS = 60_000;
const scope = (organization: string) => credentialScope(organization, workFor(DEADLINE_MS));
const block = () => locks.query(`select pg_advisory_lock(${LOCK})`);
const release = () => locks.query(`select pg_advisory_unlock(${LOCK})`);
/** The statements that wait for the lock. */
const blocked = () => locks.query(`select 1 from pg_locks where locktype = 'advisory' and not granted and objid = ${LOCK}`);

it('one tenant gets at most half of the connections, so that the statement of another runs at once', async () => {
  await block();
  const slow = Array.from({ length: 6 }, () => database.read(scope('acme'), BLOCKED));
  await expect.poll(blocked).toHaveLength(CONNECTIONS / 2);
  // This would hang if the blocked statements had all connections.
  await database.read(scope('other'), NOW);
  expect(await blocked()).toHaveLength(CONNECTIONS / 2);
  await release();
  await Promise.all(slow);
});

it('a tenant with one statement does not wait until the queues of busy tenants are empty', async () => {
  let done = 0;
  const burst = ['acme', 'beta'].flatMap((organization) =>
    Array.from({ length: 100 }, () => database.read(scope(organization), NOW).finally(() => done++)),
  );
  await database.read(scope('other'), NOW);
  expect(done).toBeLessThan(50);
  await Promise.all(burst);
});

it('at most 2,000 statements of a tenant wait for a connection, and further ones are refused at once', async () => {
  const controller = new AbortController();
  const limited = { ...workFor(DEADLINE_MS), signal: controller.signal };
  const burst = Array.from({ length: 2_100 }, () => database.read(credentialScope('acme', limited), NOW));
  // Nothing has run yet, so a statement that isn't refused waits for a connection or has one.
  controller.abort();
  const outcomes = (await Promise.allSettled(burst)).map((outcome) => outcome.status === 'rejected' && outcome.reason);
  const refused = outcomes.filter(({ kind, reason }) => kind === 'resource_exhausted' && reason === 'OVERLOADED');
  expect(refused).toHaveLength(2_100 - CONNECTIONS / 2 - 2_000);
  expect(outcomes.filter(({ kind }) => kind === 'deadline_exceeded')).toHaveLength(2_000 + CONNECTIONS / 2);
});

it('a slow statement fails with SLOW_WORK, because the server cancels it shortly before its deadline', async () => {
  const limits: number[] = [];
  // The server's limit is 20 ms before the deadline. On a busy machine its error may arrive after the deadline, so this test sets a lower limit.
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
