import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { logged, mostLines } from '@crs/testing/logged';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { LOOPBACK, newAddress, newNetwork, startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const LIMIT = 3;
const FLOOD = 200;
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let gateway: Gateway;
/** The number of keys that auth has looked up in the database. */
let lookUps = 0;
let stopCounting: () => void;

beforeAll(async () => {
  world = await sharedWorld();
  for (const id of [ACME, GLOBEX])
    await world.load([
      { type: 'organization', id, name: id, rate_limit: { requests: 10_000, period_seconds: 86_400 } },
      { type: 'call', organization: id, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
    ]);
  gateway = await start();
  stopCounting = interceptStatements((statement) => {
    if (statement.name === 'look_up_key') lookUps++;
    return statement;
  });
});
afterAll(async () => {
  stopCounting?.();
  await gateway?.stop();
});
beforeEach(() => void (lookUps = 0));

/** Starts a gateway and waits until it is connected to all services, because before that it may count locally. */
async function start(): Promise<Gateway> {
  const started = await startGateway(world, {
    addressLimit: { requests: LIMIT, periodSeconds: 86_400 },
    trustedProxies: LOOPBACK,
  });
  await started.rest(CALL, { key: await world.createKey(ACME) });
  return started;
}

const get = (key: string, from: string) => gateway.rest(CALL, { key, headers: { 'x-forwarded-for': from } });
const flood = (from: string, length = FLOOD) =>
  Promise.all(Array.from({ length }, async () => (await get(createApiKey(), from)).status));
const useUp = async (from: string) => {
  for (let n = 0; n <= LIMIT; n++) await get(createApiKey(), from);
};

it('distinct made-up keys from an address over its limit cause few look-ups, and share log lines', async () => {
  const from = newAddress();
  const refusedAt = performance.now();
  await useUp(from);
  lookUps = 0;
  const began = performance.now();
  expect(new Set(await flood(from))).toEqual(new Set([429]));
  // At most 16 keys wait at a time, and one is looked up every 25 ms.
  expect(lookUps).toBeLessThanOrEqual(16 + (performance.now() - began) / 25);
  // The request that used up the limit was the first 429.
  await vi.waitFor(() => expect(logged(world.log, 429, from).requests).toBe(FLOOD + 1), { timeout: 5_000 });
  expect(logged(world.log, 429, from).lines).toBeLessThanOrEqual(mostLines(performance.now() - refusedAt));
});

it('an unknown key from an address below its limit is looked up without waiting for others', async () => {
  const from = newAddress();
  expect((await get(createApiKey(), from)).status).toBe(401);
  expect(lookUps).toBe(1);
});

it('a valid key that is not cached is served from an address over its limit, in all concurrent requests', async () => {
  const from = newAddress();
  await useUp(from);
  const guesses = Array.from({ length: 10 }, async () => (await get(createApiKey(), from)).status);
  for (const organization of [ACME, GLOBEX]) {
    const key = await world.createKey(organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(key, from)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([429]));
});

it('keys from different IPv6 /64 networks of one customer share one look-up queue', async () => {
  const network = newNetwork();
  const from = (n: number) => `${network}:${n.toString(16)}::1`;
  for (let n = 0; n < 10; n++) await useUp(from(n));
  lookUps = 0;
  const began = performance.now();
  await Promise.all(Array.from({ length: 10 }, (_, n) => flood(from(n), 20)));
  expect(lookUps).toBeLessThanOrEqual(16 + (performance.now() - began) / 25);
});

describe('a request without a key', () => {
  const MORE = 10;

  it.each([
    ['an unknown path', 'GET /nothing', '', 404],
    ['the documentation', 'GET /docs', '', 200],
    ['the OpenAPI document', 'GET /v1/openapi.json', '', 200],
    ['the OpenAPI document with a wrong method', 'DELETE /v1/openapi.json', '', 405],
    ['a preflight response', 'OPTIONS /v1/calls', 'Access-Control-Request-Method: GET\r\n', 401],
  ])(
    'for %s is charged to its address, and gets 429 beyond the limit, which the log counts',
    async (_, line, headers, status) => {
      const from = newAddress();
      const own = await start();
      onTestFinished(() => own.stop());
      const send = async () => {
        const bytes = `${line} HTTP/1.1\r\nHost: a\r\n${headers}X-Forwarded-For: ${from}\r\nConnection: close\r\n\r\n`;
        return Number(/^HTTP\/1\.1 (\d{3}) /.exec(await sendRaw(own.address, bytes))?.[1]);
      };
      const statuses: number[] = [];
      const began = performance.now();
      for (let n = 0; n < LIMIT + MORE; n++) statuses.push(await send());
      expect(statuses).toEqual([...Array.from({ length: LIMIT }, () => status), ...Array.from({ length: MORE }, () => 429)]);
      // A gateway logs its counts when it stops.
      await own.stop();
      expect(logged(world.log, 429, from).requests).toBe(MORE);
      expect(logged(world.log, 429, from).lines).toBeLessThanOrEqual(mostLines(performance.now() - began));
      expect(logged(world.log, status, from).requests).toBe(LIMIT);
    },
  );
});
