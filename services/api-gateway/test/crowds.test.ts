import { setTimeout as sleep } from 'node:timers/promises';
import type { RestResponse } from '@crs/testing/rest';
import { openSession, type Session } from '@crs/testing/sql';
import { sendRaw } from '@crs/testing/send-raw';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { sendBytes } from './_answers.ts';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const OFFICES = '/v1/billing-offices';
/** The number of requests of one organization that may wait. */
const LINE = 1_000;

let world: OwnWorld;
let gateway: Gateway;
let unhurried: Gateway;
/** Holds a lock that blocks every read of calls. */
let locks: Session;
const keys: Record<string, string> = {};
/** The answers to requests whose bodies do not arrive. */
let halves: Promise<string[]>;
/** Requests that their organization had left before. */
let left: number;

beforeAll(async () => {
  world = await startWorld();
  for (const [id, requests] of Object.entries({ acme: 100_000, other: 100_000, stalled: 100_000, whole: 600 })) {
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
  gateway = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 2_000, writeTimeoutMs: 60_000 });
  unhurried = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 60_000 });
  for (const id of ['acme', 'other'])
    for (const path of [CALL, OFFICES]) for (const each of [gateway, unhurried]) await ask(id, path, each);
  locks = await openSession(world.databaseUrl);
});
afterEach(() => locks.query('rollback'));
afterAll(async () => {
  await locks?.close();
  await gateway?.stop();
  await unhurried?.stop();
  await world?.close();
});

const ask = (id: string, path: string, from = gateway) => from.rest(path, { key: keys[id] });
const statusOf = ({ status }: RestResponse) => status;
const leftOf = ({ headers }: RestResponse) => Number(headers.get('x-ratelimit-remaining'));

/** Fills both slots of acme with requests that a lock on this table blocks. */
async function crowd(table: string, begin: () => Promise<RestResponse>): Promise<Promise<RestResponse>[]> {
  await locks.query('begin');
  await locks.query(`lock table ${table} in access exclusive mode`);
  const stuck = [begin(), begin()];
  const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await vi.waitFor(async () => expect((await world.query(blocked)).rows).toHaveLength(2), { timeout: 5_000 });
  return stuck;
}
const crowdOfReads = (at: Gateway) => crowd('calls.calls', () => ask('acme', CALL, at));
/** The requests have more time than those that wait for them. */
const crowdOfWrites = () =>
  crowd('projects.creations', () =>
    gateway.rest('/v1/projects', {
      key: keys['acme'],
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Crowded', lead_email: 'ann@acme.example' }),
    }),
  );

function expectShed(answer: RestResponse): void {
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(3);
  expect(answer.json.error.code).toBe('internal_error');
  expect(answer.json.error.message).toContain('Too many requests are under way');
  expect(Number(answer.headers.get('x-ratelimit-limit'))).toBe(100_000);
}

it('a body that does not arrive holds no slot', async () => {
  left = leftOf(await ask('stalled', OFFICES));
  const head = ['POST /v1/projects HTTP/1.1', 'Host: rest', `Authorization: Bearer ${keys['stalled']}`];
  const half = [...head, 'Content-Type: application/json', 'Content-Length: 9', '', '{'].join('\r\n');
  halves = Promise.all(Array.from({ length: 4 }, () => sendRaw(gateway.address, half)));
  await sleep(200);
  expect((await ask('stalled', OFFICES)).status).toBe(200);
});

it('a request beyond the slots of its organization waits for one; other organizations are served', async () => {
  const stuck = await crowdOfWrites();
  let isServed = false;
  const third = ask('acme', OFFICES).finally(() => (isServed = true));
  expect((await ask('other', OFFICES)).status).toBe(200);
  await sleep(200);
  expect(isServed).toBe(false);
  await locks.query('rollback');
  expect((await third).status).toBe(200);
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([201, 201]);
});

it('a waiting request is refused with Retry-After when a fifth of its time is left', async () => {
  const stuck = await crowdOfWrites();
  const started = performance.now();
  expectShed(await ask('acme', OFFICES));
  expect(performance.now() - started).toBeGreaterThan(1_500);
  await locks.query('rollback');
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([201, 201]);
  expect((await ask('acme', OFFICES)).status).toBe(200);
});

it('requests beyond the line are refused as overload, not as a used-up rate limit', async () => {
  // The other gateway shows how many requests have been counted.
  const left = async () => Number((await ask('acme', '/v1/nothing')).headers.get('x-ratelimit-remaining'));
  const stuck = await crowdOfReads(unhurried);
  const before = await left();
  const head = `GET /v1/nothing HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${keys['acme']}\r\n`;
  // One connection keeps the requests in order.
  const pipelined = sendBytes(unhurried.address, `${head}\r\n`.repeat(LINE + 4) + `${head}Connection: close\r\n\r\n`);
  await vi.waitFor(async () => expect(before - (await left())).toBeGreaterThan(LINE + 5), { timeout: 20_000, interval: 100 });
  await sleep(200);
  await locks.query('rollback');
  const answers = await pipelined;
  expect(new Set(answers.slice(0, LINE).map(statusOf))).toEqual(new Set([404]));
  expect(answers).toHaveLength(LINE + 5);
  for (const answer of answers.slice(LINE)) expectShed(answer);
  await Promise.all(stuck);
});

it('a client that hangs up frees its slot or its place in the line', async () => {
  const stuck = await crowdOfReads(unhurried);
  const headers = { authorization: `Bearer ${keys['acme']}` };
  const hangUp = (ms: number) =>
    fetch(`http://${unhurried.address}${OFFICES}`, { headers, signal: AbortSignal.timeout(ms) }).catch(() => undefined);
  await Promise.all(Array.from({ length: 100 }, (_, n) => hangUp(300 + n)));
  const patient = ask('acme', OFFICES, unhurried);
  await sleep(50);
  await locks.query('rollback');
  expect((await patient).status).toBe(200);
  await Promise.all(stuck);
  // These clients hang up while they are served.
  for (let n = 0; n < 20; n++) await Promise.all(Array.from({ length: 10 }, (_, m) => hangUp(1 + ((n * m) % 30))));
  await Promise.all(await crowdOfReads(unhurried).then((both) => locks.query('rollback').then(() => both)));
  expect((await ask('acme', OFFICES, unhurried)).status).toBe(200);
});

it('all requests that the limit admits may come at once', async () => {
  // A slow machine, too, answers all of them in this time.
  const usual = await startGateway(world, { readTimeoutMs: 30_000 });
  try {
    await ask('other', CALL, usual);
    const answers = await Promise.all(Array.from({ length: 600 }, () => ask('whole', CALL, usual)));
    expect(answers.filter(({ status }) => status !== 200).map(statusOf)).toEqual([]);
    expect((await ask('whole', CALL, usual)).status).toBe(429);
  } finally {
    await usual.stop();
  }
});

it('a body that does not arrive is given up after 5 s, and charged once', async () => {
  for (const answered of await halves) {
    expect(answered).toMatch(/^HTTP\/1\.1 408 [^]*X-RateLimit-Limit: 100000/i);
    expect(answered).toContain('"code":"bad_request","message":"The body did not arrive within 5 s."');
  }
  // Four requests that stalled, and two others.
  expect(leftOf(await ask('stalled', OFFICES))).toBe(left - 6);
});
