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
/** How many keys auth has looked up. */
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

/** Starts a gateway, and connects it to all services: until then it may count by itself. */
async function start(): Promise<Gateway> {
  const started = await startGateway(world, {
    addressLimit: { requests: LIMIT, periodSeconds: 86_400 },
    trustedProxies: LOOPBACK,
  });
  await started.rest(CALL, { key: await world.createKey(ACME) });
  return started;
}

const ask = (key: string, from: string) => gateway.rest(CALL, { key, headers: { 'x-forwarded-for': from } });
const flood = (from: string, length = FLOOD) =>
  Promise.all(Array.from({ length }, async () => (await ask(createApiKey(), from)).status));
const useUp = async (from: string) => {
  for (let n = 0; n <= LIMIT; n++) await ask(createApiKey(), from);
};

it('distinct made-up keys from an address over its limit cost few look-ups, and share lines of the log', async () => {
  const from = newAddress();
  const refusedAt = performance.now();
  await useUp(from);
  lookUps = 0;
  const began = performance.now();
  expect(new Set(await flood(from))).toEqual(new Set([429]));
  // Sixteen wait at a time, and one is looked up every 25 ms.
  expect(lookUps).toBeLessThanOrEqual(16 + (performance.now() - began) / 25);
  // The request that used up the limit was the first 429.
  await vi.waitFor(() => expect(logged(world.log, 429, from).requests).toBe(FLOOD + 1), { timeout: 5_000 });
  expect(logged(world.log, 429, from).lines).toBeLessThanOrEqual(mostLines(performance.now() - refusedAt));
});

it('a key that is looked up below the limit of its address doesn’t wait for others', async () => {
  const from = newAddress();
  expect((await ask(createApiKey(), from)).status).toBe(401);
  expect(lookUps).toBe(1);
});

it('a new good key gets through from an address over its limit, with all requests that carry it', async () => {
  const from = newAddress();
  await useUp(from);
  const guesses = Array.from({ length: 10 }, async () => (await ask(createApiKey(), from)).status);
  for (const organization of [ACME, GLOBEX]) {
    const key = await world.createKey(organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(key, from)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([429]));
});

it('the networks of a customer share one queue', async () => {
  const network = newNetwork();
  const from = (n: number) => `${network}:${n.toString(16)}::1`;
  for (let n = 0; n < 10; n++) await useUp(from(n));
  lookUps = 0;
  const began = performance.now();
  await Promise.all(Array.from({ length: 10 }, (_, n) => flood(from(n), 20)));
  expect(lookUps).toBeLessThanOrEqual(16 + (performance.now() - began) / 25);
});

describe('without a key', () => {
  const MORE = 10;

  it.each([
    ['a path at which there is nothing', 'GET /nothing', '', 404],
    ['the documentation', 'GET /docs', '', 200],
    ['the OpenAPI document', 'GET /v1/openapi.json', '', 200],
    ['a wrong method at the OpenAPI document', 'DELETE /v1/openapi.json', '', 405],
    ['a preflight', 'OPTIONS /v1/calls', 'Access-Control-Request-Method: GET\r\n', 401],
  ])('%s is charged to the address, and beyond its limit it is 429 and counted in the log', async (_, line, headers, status) => {
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
  });
});
