import { setTimeout as sleep } from 'node:timers/promises';
import type { RestResponse } from '@crs/testing/rest';
import { openSession, type Session } from '@crs/testing/sql';
import { sendRaw } from '@crs/testing/send-raw';
import { startWorld, type World } from '@crs/testing/world';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { sendBytes } from './_answers.ts';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const OFFICES = '/v1/billing-offices';
/** The number of requests of one organization that may wait. */
const LINE = 1_000;

let world: World;
let gateway: Gateway;
let unhurried: Gateway;
/** Holds a lock that blocks every read of calls. */
let locks: Session;
const keys: Record<string, string> = {};

beforeAll(async () => {
  world = await startWorld();
  for (const [id, requests] of Object.entries({ acme: 100_000, other: 100_000, whole: 600 })) {
    const rate = { requests, period_seconds: 60 };
    await world.load([
      { type: 'organization', id, name: id, write_surface: true, rate_limit: rate },
      { type: 'call', organization: id, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
    ]);
    keys[id] = await world.createKey(id);
  }
  gateway = await startGateway(world, { tenantConcurrency: 2, readTimeoutMs: 2_000 });
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

/** Fills both slots of acme with blocked reads. */
async function crowd(at = gateway): Promise<Promise<RestResponse>[]> {
  await locks.query('begin');
  await locks.query('lock table calls.calls in access exclusive mode');
  const stuck = [ask('acme', CALL, at), ask('acme', CALL, at)];
  await sleep(200);
  return stuck;
}

function expectShed(answer: RestResponse): void {
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(3);
  expect(answer.json.error.code).toBe('internal_error');
  expect(answer.json.error.message).toContain('Too many requests are under way');
  expect(Number(answer.headers.get('x-ratelimit-limit'))).toBe(100_000);
}

it('a request beyond the slots of its organization waits for one; other organizations are served', async () => {
  const stuck = await crowd();
  let isServed = false;
  const third = ask('acme', OFFICES).finally(() => (isServed = true));
  expect((await ask('other', OFFICES)).status).toBe(200);
  await sleep(200);
  expect(isServed).toBe(false);
  await locks.query('rollback');
  expect((await third).status).toBe(200);
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([200, 200]);
});

it('a waiting request is refused with Retry-After when a fifth of its time is left', async () => {
  const stuck = await crowd();
  const started = performance.now();
  expectShed(await ask('acme', OFFICES));
  const waited = performance.now() - started;
  expect(waited).toBeGreaterThan(1_500);
  expect(waited).toBeLessThan(5_000);
  expect((await Promise.all(stuck)).map(statusOf)).toEqual([504, 504]);
  expect((await ask('acme', OFFICES)).status).toBe(200);
});

it('requests beyond the line are refused as overload, not as a used-up rate limit', async () => {
  const stuck = await crowd(unhurried);
  const head = `GET /v1/nothing HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${keys['acme']}\r\n`;
  // One connection keeps the requests in order.
  const pipelined = sendBytes(unhurried.address, `${head}\r\n`.repeat(LINE + 4) + `${head}Connection: close\r\n\r\n`);
  await sleep(1_000);
  await locks.query('rollback');
  const answers = await pipelined;
  expect(new Set(answers.slice(0, LINE).map(statusOf))).toEqual(new Set([404]));
  expect(answers).toHaveLength(LINE + 5);
  for (const answer of answers.slice(LINE)) expectShed(answer);
  await Promise.all(stuck);
});

it('a client that hangs up frees its slot or its place in the line', async () => {
  const stuck = await crowd(unhurried);
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
  await Promise.all(await crowd(unhurried).then((both) => locks.query('rollback').then(() => both)));
  expect((await ask('acme', OFFICES, unhurried)).status).toBe(200);
});

it('all requests that the limit admits may come at once', async () => {
  const usual = await startGateway(world, {});
  try {
    await ask('other', CALL, usual);
    const answers = await Promise.all(Array.from({ length: 600 }, () => ask('whole', CALL, usual)));
    expect(answers.filter(({ status }) => status !== 200).map(statusOf)).toEqual([]);
    expect((await ask('whole', CALL, usual)).status).toBe(429);
  } finally {
    await usual.stop();
  }
});

it('a body that does not arrive holds no slot, and is given up after 5 s', async () => {
  const head = ['POST /v1/projects HTTP/1.1', 'Host: rest', `Authorization: Bearer ${keys['acme']}`];
  const half = [...head, 'Content-Type: application/json', 'Content-Length: 9', '', '{'].join('\r\n');
  const before = leftOf(await ask('acme', OFFICES));
  const attackers = Array.from({ length: 4 }, () => sendRaw(gateway.address, half));
  await sleep(200);
  expect((await ask('acme', OFFICES)).status).toBe(200);
  for (const answered of await Promise.all(attackers)) {
    expect(answered).toMatch(/^HTTP\/1\.1 408 [^]*X-RateLimit-Limit: 100000/i);
    expect(answered).toContain('"code":"bad_request","message":"The body did not arrive within 5 s."');
  }
  // Four requests that stalled, and two others.
  expect(leftOf(await ask('acme', OFFICES))).toBe(before - 6);
});
