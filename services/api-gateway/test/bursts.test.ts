import { createConnection } from 'node:net';
import type { RestResponse } from '@crs/testing/rest';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const OFFICES = '/v1/billing-offices';

let world: OwnWorld;
/** Two gateways that each serve two concurrent requests of an organization: one with a short timeout, and one with a long one. */
let shortTimeout: Gateway;
let longTimeout: Gateway;
/** A session that holds a lock on a table, which blocks every statement on it. */
let locks: Session;
const keys: Record<string, string> = {};

beforeAll(async () => {
  world = await startWorld();
  for (const [id, requests] of Object.entries({ acme: 100_000, other: 100_000, stalled: 100_000, whole: 200 })) {
    const rate = { requests, period_seconds: 60 };
    await world.load([
      { type: 'organization', id, name: id, write_surface: true, rate_limit: rate },
      { type: 'call', organization: id, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
    ]);
    keys[id] = await world.createKey(id);
  }
  await world.load([
    { type: 'billing_office', organization: 'acme', name: 'London', is_default: true },
    { type: 'user', organization: 'acme', email: 'ann@acme.example', name: 'Ann' },
  ]);
  shortTimeout = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 1_000, writeTimeoutMs: 60_000 });
  longTimeout = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 60_000, writeTimeoutMs: 60_000 });
  for (const id of ['acme', 'other'])
    for (const path of [CALL, OFFICES]) for (const each of [shortTimeout, longTimeout]) await get(id, path, each);
  locks = await openSession(world.databaseUrl);
});
afterEach(() => locks.query('rollback'));
afterAll(async () => {
  await locks?.close();
  await shortTimeout?.stop();
  await longTimeout?.stop();
  await world?.close();
});

const get = (id: string, path: string, from = longTimeout) => from.rest(path, { key: keys[id] });
const statusOf = ({ status }: RestResponse) => status;

/** Charges one request, at the gateway of the test environment, which has free slots. @returns how many requests the organization has left */
async function leftOf(id: string): Promise<number> {
  return Number((await world.rest('/v1/nothing', { key: keys[id] })).headers.get('x-ratelimit-remaining'));
}

/** Waits until exactly `count` requests have been charged to an organization that had `before` left. */
async function waitForCharges(id: string, before: number, count: number): Promise<void> {
  let checks = 0;
  await expect.poll(async () => before - (await leftOf(id)) - ++checks).toBe(count);
}

/** Occupies both slots of acme with requests that wait for a lock on this table. */
async function occupySlots(table: string, begin: () => Promise<RestResponse>): Promise<Promise<RestResponse>[]> {
  await locks.query('begin');
  await locks.query(`lock table ${table} in access exclusive mode`);
  const stuck = [begin(), begin()];
  const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await vi.waitFor(async () => expect((await world.query(blocked)).rows).toHaveLength(2), { timeout: 5_000 });
  return stuck;
}
const occupyWithReads = () => occupySlots('calls.calls', () => get('acme', CALL));
/** Writes have a longer timeout than the reads that wait for their slots. */
const occupyWithWrites = (at: Gateway) =>
  occupySlots('projects.creations', () =>
    at.rest('/v1/projects', {
      key: keys['acme'],
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Blocked', lead_email: 'ann@acme.example' }),
    }),
  );

it('a request whose body does not arrive occupies no slot, and is charged once', async () => {
  const [host, port] = longTimeout.address.split(':');
  const before = await leftOf('stalled');
  const head = ['POST /v1/projects HTTP/1.1', 'Host: rest', `Authorization: Bearer ${keys['stalled']}`];
  const half = [...head, 'Content-Type: application/json', 'Content-Length: 9', '', '{'].join('\r\n');
  let hasResponse = false;
  for (let n = 0; n < 4; n++) {
    const socket = createConnection(Number(port), host).once('data', () => (hasResponse = true));
    onTestFinished(() => void socket.destroy());
    socket.write(half);
  }
  await waitForCharges('stalled', before, 4);
  expect((await get('stalled', OFFICES)).status).toBe(200);
  expect(hasResponse).toBe(false);
});

it('a request waits while all slots of its organization are occupied; other organizations are served', async () => {
  const stuck = await occupyWithWrites(longTimeout);
  const before = await leftOf('acme');
  let isServed = false;
  const third = get('acme', OFFICES).finally(() => (isServed = true));
  await waitForCharges('acme', before, 1);
  for (let n = 0; n < 10; n++) expect((await get('other', OFFICES)).status).toBe(200);
  expect(isServed).toBe(false);
  await locks.query('rollback');
  expect((await third).status).toBe(200);
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([201, 201]);
});

it('a waiting request is refused with Retry-After when a fifth of its timeout is left', async () => {
  const stuck = await occupyWithWrites(shortTimeout);
  const started = performance.now();
  const { status, headers, json } = await get('acme', OFFICES, shortTimeout);
  expect(status).toBe(503);
  expect(performance.now() - started).toBeGreaterThan(750);
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(3);
  expect(json.error.code).toBe('internal_error');
  expect(json.error.message).toContain('Too many requests are under way');
  // The rate limit is not the cause: it is far from used up.
  expect(Number(headers.get('x-ratelimit-limit'))).toBe(100_000);
  await locks.query('rollback');
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([201, 201]);
  expect((await get('acme', OFFICES, shortTimeout)).status).toBe(200);
});

it('a client that disconnects frees its slot or its place in the queue', async () => {
  const stuck = await occupyWithReads();
  const headers = { authorization: `Bearer ${keys['acme']}` };
  const getUntil = (signal: AbortSignal) =>
    fetch(`http://${longTimeout.address}${OFFICES}`, { headers, signal }).catch(() => undefined);
  const before = await leftOf('acme');
  const disconnect = new AbortController();
  const waiting = Array.from({ length: 100 }, () => getUntil(disconnect.signal));
  await waitForCharges('acme', before, 100);
  disconnect.abort();
  await Promise.all(waiting);
  const next = get('acme', OFFICES);
  await locks.query('rollback');
  expect((await next).status).toBe(200);
  await Promise.all(stuck);
  // These clients disconnect while they are served.
  for (let n = 0; n < 20; n++)
    await Promise.all(Array.from({ length: 10 }, (_, m) => getUntil(AbortSignal.timeout(1 + ((n * m) % 30)))));
  await Promise.all(await occupyWithReads().then((both) => locks.query('rollback').then(() => both)));
  expect((await get('acme', OFFICES)).status).toBe(200);
});

it('all requests that the rate limit admits may arrive at once', async () => {
  // Long enough for all of them on a slow machine.
  const usual = await startGateway(world, { readTimeoutMs: 30_000 });
  try {
    await get('other', CALL, usual);
    const answers = await Promise.all(Array.from({ length: 200 }, () => get('whole', CALL, usual)));
    expect(answers.filter(({ status }) => status !== 200).map(statusOf)).toEqual([]);
    expect((await get('whole', CALL, usual)).status).toBe(429);
  } finally {
    await usual.stop();
  }
});
