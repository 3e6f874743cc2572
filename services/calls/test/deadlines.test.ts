import type { ServiceError } from '@crs/kit/errors';
import type { CallOptions } from '@crs/kit/rpc/client';
import { callerToken } from '@crs/testing/instance';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { callsClient } from './_clients.ts';
import { callLine, sendBatch, tenantRecords } from './_records.ts';

/** The service's database connections in the test environment, as in `npm start`. */
const CONNECTIONS = 8;
const LATE = { kind: 'deadline_exceeded', retryAfterSeconds: 1 };

let world: OwnWorld;
let database: Session;
let locks: Session;
let token: string;

beforeAll(async () => {
  world = await startWorld();
  database = await openSession(world.databaseUrl);
  locks = await openSession(world.databaseUrl);
  await world.load(['acme', 'globex'].flatMap((id) => [...tenantRecords(id), callLine(id, 'call_1')]));
  token = await callerToken(world, await world.createKey('acme'), 'calls');
});
afterAll(async () => {
  await database?.close();
  await locks?.close();
  await world?.close();
});
afterEach(() => locks.query('rollback'));

/** Makes every statement on calls wait until `locks` rolls back. */
const block = async () => {
  await locks.query('begin');
  await locks.query('lock table calls.calls in access exclusive mode');
};

/** Runs `send` with a new client, whose circuit breaker has seen no failure yet. */
async function withNewClient<T>(send: (calls: ReturnType<typeof callsClient>) => Promise<T>): Promise<T> {
  const calls = callsClient(world.stack.addresses.calls);
  try {
    return await send(calls);
  } finally {
    calls.close();
  }
}
const ALL_TRANSCRIPTS = { withoutVerbatim: false, withoutRedacted: false, withoutClean: false };
const RANGE = {
  start: new Date('2000-01-01'),
  end: new Date('2100-01-01'),
  updatedSince: undefined,
  page: 1,
  perPage: 50,
  withDetails: false,
  ...ALL_TRANSCRIPTS,
};
const CALL = { callId: 'call_1', ...ALL_TRANSCRIPTS };
const list = (options: CallOptions = {}) => withNewClient((calls) => calls.listOrganizationCalls(RANGE, { token, ...options }));
const detail = (options: CallOptions = {}) => withNewClient((calls) => calls.getOrganizationCall(CALL, { token, ...options }));
const importCall = (options: CallOptions = {}) =>
  sendBatch(world, 'acme', [callLine('acme', 'call_1', { summary: `${Math.random()}` })], options);

/** The process ids of the service's database sessions. */
async function sessions(where = 'true'): Promise<number[]> {
  const rows = await database.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name like 'crs-calls%' and ${where}`,
  );
  return rows.map(({ pid }) => pid);
}
const blockedSessions = () => sessions(`wait_event_type = 'Lock'`);

describe('a gRPC call whose statement is blocked', () => {
  it('ends by its deadline and leaves no statement running, whether it is a list, a detail or an import', async () => {
    const requests = [list, detail, importCall];
    await Promise.all(requests.map((request) => request()));
    await block();
    const started = Date.now();
    const answers = requests.map((request) => request({ deadline: started + 1_500 }).catch((error: unknown) => error));
    await expect.poll(blockedSessions).toHaveLength(requests.length);
    const pids = await blockedSessions();
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject(LATE);
    expect(Date.now() - started).toBeLessThan(10_000);
    await expect.poll(blockedSessions).toEqual([]);
    await locks.query('rollback');
    await Promise.all(requests.map((request) => request()));
    const now = await sessions();
    expect(now.filter((pid) => pids.includes(pid))).toEqual([]);
  });

  it('leaves half of the connections to other organizations, however many such calls its organization sends', async () => {
    await block();
    const answers = await Promise.all(
      Array.from({ length: CONNECTIONS * 2 }, () => detail({ deadline: Date.now() + 1_500 }).catch((error: unknown) => error)),
    );
    const kinds = answers.map((answer) => (answer as ServiceError).kind).toSorted();
    const late = Array.from({ length: CONNECTIONS / 2 }, () => 'deadline_exceeded');
    expect(kinds).toEqual([...late, ...Array.from({ length: CONNECTIONS * 1.5 }, () => 'resource_exhausted')]);
    await expect.poll(blockedSessions).toEqual([]);
    await locks.query('rollback');
    await Promise.all(Array.from({ length: CONNECTIONS * 2 }, () => detail()));
    expect((await sessions(`application_name = 'crs-calls'`)).length).toBeLessThanOrEqual(CONNECTIONS);
  });
});

describe('a gRPC call that its client cancels', () => {
  it.each([
    ['a detail', detail],
    ['an import', importCall],
  ])('frees its connection and ends its statement long before its deadline: %s', async (_, send) => {
    await block();
    const controller = new AbortController();
    const answers = Array.from({ length: CONNECTIONS + 1 }, () =>
      send({ signal: controller.signal, deadline: Date.now() + 20_000 }).catch(() => 'canceled'),
    );
    await expect.poll(blockedSessions).not.toEqual([]);
    controller.abort(new Error('canceled'));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['canceled']));
    await expect.poll(blockedSessions).toEqual([]);
    await locks.query('rollback');
    await send({ deadline: Date.now() + 10_000 });
  });
});

describe('an import', () => {
  it('takes at most 30 seconds, even if its caller allows more, so clients that poll with an overlap miss no change', async () => {
    const timeouts: number[] = [];
    let latest = Infinity;
    const stop = interceptStatements((statement) => {
      latest = Number(/statement_timeout = (\d+)/.exec(statement.text)?.[1] ?? latest);
      if (statement.name === 'lock_imports') timeouts.push(latest);
      return statement;
    });
    try {
      await importCall({ deadline: Date.now() + 600_000 });
    } finally {
      stop();
    }
    expect(timeouts).toHaveLength(1);
    expect(timeouts[0]).toBeLessThanOrEqual(30_000);
  });
});
