import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import { startRelay, type Relay } from '@crs/testing/relay';
import type { RestResponse } from '@crs/testing/rest';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';
const READ_TIMEOUT_MS = 1_000;
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];

let world: World;
let key: string;
let globexKey: string;
let wayToAuth: Relay;
let gateway: Gateway;

beforeAll(async () => {
  world = await sharedWorld();
  await world.load(
    [ACME, GLOBEX].flatMap((organization) => [
      { type: 'organization', id: organization, name: organization, rate_limit: { requests: 100_000, period_seconds: 60 } },
      { type: 'call', organization, id: 'call_1', summary: `of ${organization}` },
    ]),
  );
  [key, globexKey] = [await world.createKey(ACME), await world.createKey(GLOBEX)];
  wayToAuth = await startRelay(world.stack.addresses.auth);
  gateway = await startGateway(world, { authAddress: wayToAuth.address, readTimeoutMs: READ_TIMEOUT_MS });
});
afterAll(async () => {
  await gateway?.stop();
  await wayToAuth?.close();
});

const recovers = () =>
  vi.waitFor(async () => expect((await gateway.rest(CALL, { key })).status).toBe(200), { timeout: 10_000, interval: 50 });

it('while auth is down, a cached key works for at most a second, and the gateway recovers by itself', async () => {
  for (const [each, organization] of [
    [globexKey, GLOBEX],
    [key, ACME],
  ])
    expect((await gateway.rest(CALL, { key: each! })).json.summary).toBe(`of ${organization}`);
  await wayToAuth.close();
  const closedAt = performance.now();
  let answer: RestResponse;
  for (;;) {
    const sentAt = performance.now();
    answer = await gateway.rest(CALL, { key });
    if (answer.status !== 200) break;
    expect(sentAt - closedAt).toBeLessThan(1_000);
  }
  expect(answer.status).toBe(503);
  expect(answer.json.error).toMatchObject({
    code: 'internal_error',
    message: 'The service is not available right now. Try again shortly.',
  });
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(answer.headers.get('www-authenticate')).toBeNull();

  // These responses don't need auth.
  expect((await gateway.rest(CALL)).status).toBe(401);
  expect((await gateway.rest(CALL, { key: `${key}x` })).status).toBe(401);
  expect((await gateway.rest('/nothing', { key })).status).toBe(404);
  // The key may be valid, so 401 would be wrong. Only a valid key may learn that a path is unknown, so 404 would be wrong too.
  expect((await gateway.rest(CALL, { key: createApiKey() })).status).toBe(503);
  expect((await gateway.rest('/v1/nothing', { key, method: 'POST' })).status).toBe(503);

  await wayToAuth.open();
  await recovers();
  expect((await gateway.rest(CALL, { key: createApiKey() })).status).toBe(401);
});

it('while auth hangs, a request gets 504 within its timeout', async () => {
  await recovers();
  const unknown = await world.createKey(ACME);
  wayToAuth.block();
  const started = performance.now();
  const { status, headers, json } = await gateway.rest(CALL, { key: unknown });
  expect(status).toBe(504);
  expect(performance.now() - started).toBeGreaterThan(READ_TIMEOUT_MS - 100);
  expect(performance.now() - started).toBeLessThan(READ_TIMEOUT_MS + 5_000);
  expect(json.error.code).toBe('internal_error');
  expect(headers.get('retry-after')).toBe('1');
  await wayToAuth.close();
  await wayToAuth.open();
  await recovers();
});
