import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseNetworks } from '@crs/kit/http/address';
import { createApiKey } from '@crs/kit/api-key';
import { interceptStatements } from '@crs/testing/intercept-statements';
import { FEW_LINES, logged } from '@crs/testing/logged';
import { sendRaw } from '@crs/testing/send-raw';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const LIMIT = 3;
const FLOOD = 200;

let world: OwnWorld;
let gateway: Gateway;
/** How many keys auth has looked up. */
let lookUps = 0;
let stopCounting: () => void;

beforeAll(async () => {
  world = await startWorld();
  for (const id of ['acme', 'globex'])
    await world.load([
      { type: 'organization', id, name: id, rate_limit: { requests: 10_000, period_seconds: 86_400 } },
      { type: 'call', organization: id, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
    ]);
  gateway = await startGateway(world, {
    addressLimit: { requests: LIMIT, periodSeconds: 86_400 },
    trustedProxies: parseNetworks('127.0.0.1')!,
  });
  await gateway.rest(CALL, { key: await world.createKey('acme') });
  stopCounting = interceptStatements((statement) => {
    if (statement.name === 'look_up_key') lookUps++;
    return statement;
  });
});
afterAll(async () => {
  stopCounting?.();
  await gateway?.stop();
  await world?.close();
});
beforeEach(() => void (lookUps = 0));

const ask = (key: string, from: string) => gateway.rest(CALL, { key, headers: { 'x-forwarded-for': from } });
const flood = (from: string, length = FLOOD) =>
  Promise.all(Array.from({ length }, async () => (await ask(createApiKey(), from)).status));
const useUp = async (from: string) => {
  for (let n = 0; n <= LIMIT; n++) await ask(createApiKey(), from);
};

it('distinct made-up keys from an address over its limit cost few look-ups, and share lines of the log', async () => {
  const from = '192.0.2.1';
  await useUp(from);
  lookUps = 0;
  const began = performance.now();
  expect(new Set(await flood(from))).toEqual(new Set([429]));
  // Sixteen wait at a time, and one is looked up every 25 ms.
  expect(lookUps).toBeLessThanOrEqual(16 + (performance.now() - began) / 25);
  // The request that used up the limit was the first 429.
  await vi.waitFor(() => expect(logged(world.log, 429, from).requests).toBe(FLOOD + 1), { timeout: 5_000 });
  expect(logged(world.log, 429, from).lines).toBeLessThan(FEW_LINES);
});

it('a key that is looked up below the limit of its address doesn’t wait for others', async () => {
  const from = '192.0.2.2';
  expect((await ask(createApiKey(), from)).status).toBe(401);
  expect(lookUps).toBe(1);
});

it('a new good key gets through from an address over its limit, with all requests that carry it', async () => {
  const from = '192.0.2.3';
  await useUp(from);
  const guesses = Array.from({ length: 10 }, async () => (await ask(createApiKey(), from)).status);
  for (const organization of ['acme', 'globex']) {
    const key = await world.createKey(organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(key, from)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([429]));
});

it('a good key that auth has answered for is served while made-up keys fill the queue of its address', async () => {
  const from = '192.0.2.4';
  const key = await world.createKey('acme');
  await useUp(from);
  expect((await ask(key, from)).status).toBe(200);
  const flooded = flood(from);
  // The answer about the key is too old to be used, and auth is asked again without a wait.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const floodedAgain = flood(from);
  expect((await ask(key, from)).status).toBe(200);
  await Promise.all([flooded, floodedAgain]);
});

it('the networks of a customer share one queue', async () => {
  const from = (n: number) => `2001:db8:0:${n.toString(16)}::1`;
  for (let n = 0; n < 10; n++) await useUp(from(n));
  lookUps = 0;
  const began = performance.now();
  await Promise.all(Array.from({ length: 10 }, (_, n) => flood(from(n), 20)));
  expect(lookUps).toBeLessThanOrEqual(16 + (performance.now() - began) / 25);
});

describe.each([
  ['a path at which there is nothing', 'GET /nothing', '', 404],
  ['the documentation', 'GET /docs', '', 200],
  ['the OpenAPI document', 'GET /v1/openapi.json', '', 200],
  ['a wrong method at the OpenAPI document', 'DELETE /v1/openapi.json', '', 405],
  ['a preflight', 'OPTIONS /v1/calls', 'Access-Control-Request-Method: GET\r\n', 401],
])('without a key, %s', (what, line, headers, status) => {
  it('is charged to the address, and beyond its limit it is 429 and counted in the log', async () => {
    const from = `198.51.100.${what.length}`;
    const send = async () => {
      const bytes = `${line} HTTP/1.1\r\nHost: a\r\n${headers}X-Forwarded-For: ${from}\r\nConnection: close\r\n\r\n`;
      return Number(/^HTTP\/1\.1 (\d{3}) /.exec(await sendRaw(gateway.address, bytes))?.[1]);
    };
    const more = 10;
    const statuses: number[] = [];
    for (let n = 0; n < LIMIT + more; n++) statuses.push(await send());
    expect(statuses).toEqual([...Array.from({ length: LIMIT }, () => status), ...Array.from({ length: more }, () => 429)]);
    await vi.waitFor(() => expect(logged(world.log, 429, from).requests).toBe(more), { timeout: 5_000 });
    expect(logged(world.log, 429, from).lines).toBeLessThan(FEW_LINES);
    expect(logged(world.log, status, from).requests).toBe(LIMIT);
  });
});
