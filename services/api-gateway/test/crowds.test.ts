import { createConnection } from 'node:net';
import type { RestResponse } from '@crs/testing/rest';
import { openSession, type Session } from '@crs/testing/sql';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const OFFICES = '/v1/billing-offices';

let world: OwnWorld;
/** Each of these gateways serves two requests of an organization at once. */
let hurried: Gateway;
let patient: Gateway;
/** Holds a lock on a table, which blocks every statement on it. */
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
  hurried = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 1_000, writeTimeoutMs: 60_000 });
  patient = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 60_000, writeTimeoutMs: 60_000 });
  for (const id of ['acme', 'other'])
    for (const path of [CALL, OFFICES]) for (const each of [hurried, patient]) await ask(id, path, each);
  locks = await openSession(world.databaseUrl);
});
afterEach(() => locks.query('rollback'));
afterAll(async () => {
  await locks?.close();
  await hurried?.stop();
  await patient?.stop();
  await world?.close();
});

const ask = (id: string, path: string, from = patient) => from.rest(path, { key: keys[id] });
const statusOf = ({ status }: RestResponse) => status;

/** Charges a request at the gateway of the world, which is free. @returns how many requests the organization has left */
async function leftOf(id: string): Promise<number> {
  return Number((await world.rest('/v1/nothing', { key: keys[id] })).headers.get('x-ratelimit-remaining'));
}

/** Waits until exactly so many requests have been charged to an organization that had `before` left. */
async function waitForCharges(id: string, before: number, count: number): Promise<void> {
  let looks = 0;
  await expect.poll(async () => before - (await leftOf(id)) - ++looks).toBe(count);
}

/** Fills both slots of acme with requests that a lock on this table blocks. */
async function crowd(table: string, begin: () => Promise<RestResponse>): Promise<Promise<RestResponse>[]> {
  await locks.query('begin');
  await locks.query(`lock table ${table} in access exclusive mode`);
  const stuck = [begin(), begin()];
  const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await vi.waitFor(async () => expect((await world.query(blocked)).rows).toHaveLength(2), { timeout: 5_000 });
  return stuck;
}
const crowdOfReads = () => crowd('calls.calls', () => ask('acme', CALL));
/** The requests have more time than those that wait for them. */
const crowdOfWrites = (at: Gateway) =>
  crowd('projects.creations', () =>
    at.rest('/v1/projects', {
      key: keys['acme'],
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Crowded', lead_email: 'ann@acme.example' }),
    }),
  );

it('a body that does not arrive holds no slot, and its request is charged once', async () => {
  const [host, port] = patient.address.split(':');
  const before = await leftOf('stalled');
  const head = ['POST /v1/projects HTTP/1.1', 'Host: rest', `Authorization: Bearer ${keys['stalled']}`];
  const half = [...head, 'Content-Type: application/json', 'Content-Length: 9', '', '{'].join('\r\n');
  let isGivenUp = false;
  for (let n = 0; n < 4; n++) {
    const socket = createConnection(Number(port), host).once('data', () => (isGivenUp = true));
    onTestFinished(() => void socket.destroy());
    socket.write(half);
  }
  await waitForCharges('stalled', before, 4);
  expect((await ask('stalled', OFFICES)).status).toBe(200);
  expect(isGivenUp).toBe(false);
});

it('a request beyond the slots of its organization waits for one; other organizations are served', async () => {
  const stuck = await crowdOfWrites(patient);
  const before = await leftOf('acme');
  let isServed = false;
  const third = ask('acme', OFFICES).finally(() => (isServed = true));
  await waitForCharges('acme', before, 1);
  for (let n = 0; n < 10; n++) expect((await ask('other', OFFICES)).status).toBe(200);
  expect(isServed).toBe(false);
  await locks.query('rollback');
  expect((await third).status).toBe(200);
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([201, 201]);
});

it('a waiting request is refused with Retry-After when a fifth of its time is left', async () => {
  const stuck = await crowdOfWrites(hurried);
  const started = performance.now();
  const { status, headers, json } = await ask('acme', OFFICES, hurried);
  expect(status).toBe(503);
  expect(performance.now() - started).toBeGreaterThan(750);
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(3);
  expect(json.error.code).toBe('internal_error');
  expect(json.error.message).toContain('Too many requests are under way');
  // It isn't a used-up rate limit.
  expect(Number(headers.get('x-ratelimit-limit'))).toBe(100_000);
  await locks.query('rollback');
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([201, 201]);
  expect((await ask('acme', OFFICES, hurried)).status).toBe(200);
});

it('a client that hangs up frees its slot or its place in the line', async () => {
  const stuck = await crowdOfReads();
  const headers = { authorization: `Bearer ${keys['acme']}` };
  const askUntil = (signal: AbortSignal) =>
    fetch(`http://${patient.address}${OFFICES}`, { headers, signal }).catch(() => undefined);
  const before = await leftOf('acme');
  const gone = new AbortController();
  const waiting = Array.from({ length: 100 }, () => askUntil(gone.signal));
  await waitForCharges('acme', before, 100);
  gone.abort();
  await Promise.all(waiting);
  const next = ask('acme', OFFICES);
  await locks.query('rollback');
  expect((await next).status).toBe(200);
  await Promise.all(stuck);
  // These clients hang up while they are served.
  for (let n = 0; n < 20; n++)
    await Promise.all(Array.from({ length: 10 }, (_, m) => askUntil(AbortSignal.timeout(1 + ((n * m) % 30)))));
  await Promise.all(await crowdOfReads().then((both) => locks.query('rollback').then(() => both)));
  expect((await ask('acme', OFFICES)).status).toBe(200);
});

it('all requests that the limit admits may come at once', async () => {
  // A slow machine, too, answers all of them in this time.
  const usual = await startGateway(world, { readTimeoutMs: 30_000 });
  try {
    await ask('other', CALL, usual);
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask('whole', CALL, usual)));
    expect(answers.filter(({ status }) => status !== 200).map(statusOf)).toEqual([]);
    expect((await ask('whole', CALL, usual)).status).toBe(429);
  } finally {
    await usual.stop();
  }
});
