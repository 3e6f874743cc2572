import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createApiKey } from '@crs/kit/api-key';
import type { Rest, RestResponse } from '@crs/testing/rest';
import { startRelay } from '@crs/testing/relay';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { parseNetworks } from '@crs/kit/http/address';
import { LOOPBACK, newAddress, newNetwork, startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';

let world: World;
let warmKey: string;
const gateways: Gateway[] = [];

beforeAll(async () => {
  world = await sharedWorld();
  warmKey = (await createOrganization('warm', 1_000)).keys[0];
  await warmUp(world.rest);
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
});

/** Creates an organization with two keys and one call, whose id is the same in every organization. */
async function createOrganization(name: string, requests: number): Promise<{ id: string; keys: [string, string] }> {
  const id = tenant(name);
  await world.load([
    { type: 'organization', id, name, rate_limit: { requests, period_seconds: 60 } },
    { type: 'call', organization: id, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
  ]);
  return { id, keys: [await world.createKey(id), await world.createKey(id)] };
}

async function start(settings: Parameters<typeof startGateway>[1]): Promise<Gateway> {
  const gateway = await startGateway(world, settings);
  gateways.push(gateway);
  await warmUp(gateway.rest);
  return gateway;
}

/** Starts a gateway and waits until it is connected to all services, because before that it may count locally. */
async function warmUp(rest: Rest): Promise<void> {
  for (let n = 0; n < 2; n++) await rest(CALL, { key: warmKey });
}

const number = (answer: RestResponse, header: string) => Number(answer.headers.get(header));
const remaining = (answer: RestResponse) => number(answer, 'x-ratelimit-remaining');

function expectRefused(answer: RestResponse, limit: number, whose: string): void {
  expect(answer.status).toBe(429);
  expect(answer.json.error.code).toBe('rate_limited');
  expect(answer.json.error.message).toContain(`The rate limit of ${whose} is used up`);
  expect(number(answer, 'x-ratelimit-limit')).toBe(limit);
  expect(remaining(answer)).toBe(0);
  expect(number(answer, 'x-ratelimit-reset') * 1000).toBeGreaterThan(Date.now());
  const retryAfter = number(answer, 'retry-after');
  expect(Math.abs(number(answer, 'x-ratelimit-reset') - (Date.now() / 1000 + retryAfter))).toBeLessThan(1.5);
}

describe('the limit of an organization', () => {
  it('admits exactly that many requests with all its keys together, and does not affect other organizations', async () => {
    const [one, two] = (await createOrganization('small', 5)).keys;
    const [other] = (await createOrganization('other', 5)).keys;
    const answers: RestResponse[] = [];
    for (let n = 0; n < 5; n++) answers.push(await world.rest(CALL, { key: n % 2 ? one : two }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.map(remaining)).toEqual([4, 3, 2, 1, 0]);
    expect(new Set(answers.map((answer) => number(answer, 'x-ratelimit-limit')))).toEqual(new Set([5]));
    // The window starts at the first request; resets are rounded up, so they may differ by one second.
    const resets = answers.map((answer) => number(answer, 'x-ratelimit-reset'));
    expect(Math.max(...resets) - Math.min(...resets)).toBeLessThanOrEqual(1);

    expectRefused(await world.rest(CALL, { key: one }), 5, 'the organization');
    expectRefused(await world.rest(CALL, { key: two }), 5, 'the organization');
    expect(remaining(await world.rest(CALL, { key: other }))).toBe(4);
  });

  it('is exact for concurrent requests', async () => {
    const [key] = (await createOrganization('burst', 20)).keys;
    const answers = await Promise.all(Array.from({ length: 30 }, () => world.rest(CALL, { key })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(10);
  });

  it('is charged once by every request, whatever its response', async () => {
    const [key] = (await createOrganization('charged', 100)).keys;
    const first = await world.rest(CALL, { key });
    let expected = remaining(first);
    const requests: [number, string, object][] = [
      [200, CALL, {}],
      [200, CALL, { method: 'HEAD' }],
      [304, CALL, { headers: { 'if-none-match': first.headers.get('etag')! } }],
      [400, '/v1/calls', {}],
      [404, '/v1/calls/unknown', {}],
      [404, '/v1/nothing', {}],
      [200, '/', {}],
      [405, '/v1/calls', { method: 'POST', body: 'x'.repeat(100_000) }],
      [405, CALL, { method: 'OPTIONS' }],
      [406, CALL, { headers: { accept: 'text/html' } }],
    ];
    for (const [status, path, request] of requests) {
      const answer = await world.rest(path, { key, ...request });
      expect(answer.status).toBe(status);
      expect(remaining(answer), `${status} ${path}`).toBe(--expected);
    }
  });

  it('is charged once by a request with valid headers and a malformed body', async () => {
    const { id, keys } = await createOrganization('broken', 100);
    const [key] = keys;
    await world.load([{ type: 'organization', id, write_surface: true }]);
    const addressLimit = { requests: 50, periodSeconds: 60 };
    const gateway = await start({ addressLimit });
    const first = remaining(await gateway.rest(CALL, { key }));
    const withoutKey = remaining(await gateway.rest(CALL));
    for (const path of ['/v1/projects', '/v1/calls', '/v1/nothing']) {
      const head = `POST ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
      const answer = await sendRaw(gateway.address, `${head}Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\nnonsense\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    }
    // Poll, because Node responds before the gateway charges. Each check of the counter charges one more request, so subtract those.
    let checks = 0;
    const charged = async () => first - remaining(await gateway.rest(CALL, { key })) - ++checks;
    await expect.poll(charged).toBe(3);
    expect(await charged()).toBe(3);
    expect(remaining(await gateway.rest(CALL))).toBe(withoutKey - 1);
  });

  it('is checked before any other error of the request is reported', async () => {
    const [key] = (await createOrganization('over', 1)).keys;
    expect((await world.rest('/v1/nothing', { key })).status).toBe(404);
    for (const [path, method] of [
      ['/', 'GET'],
      ['/v1/nothing', 'GET'],
      ['/v1/calls', 'POST'],
      ['/v1/calls', 'GET'],
    ] as const) {
      expectRefused(await world.rest(path, { key, method }), 1, 'the organization');
    }
  });
});

describe('the limit of a client address', () => {
  it('is charged only by requests without a valid key', async () => {
    const [key] = (await createOrganization('welcome', 1_000)).keys;
    const gateway = await start({ addressLimit: { requests: 5, periodSeconds: 60 }, trustedProxies: LOOPBACK });
    const headers = { 'x-forwarded-for': newAddress() };
    const answers = [
      await gateway.rest(CALL, { headers }),
      await gateway.rest(CALL, { headers, key: 'nonsense' }),
      await gateway.rest('/v1/nothing', { headers, key: createApiKey(), method: 'POST' }),
      await gateway.rest('/nothing', { headers }),
      await gateway.rest('/docs', { headers, method: 'POST' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 404, 405]);
    expect(answers.map(remaining)).toEqual([4, 3, 2, 1, 0]);
    expectRefused(await gateway.rest(CALL, { headers }), 5, 'this address');
    expectRefused(await gateway.rest(CALL, { headers, key: createApiKey() }), 5, 'this address');
    expectRefused(await gateway.rest('/nothing', { headers }), 5, 'this address');

    const good = await gateway.rest(CALL, { headers, key });
    expect(good.status).toBe(200);
    expect([number(good, 'x-ratelimit-limit'), remaining(good)]).toEqual([1_000, 999]);
  });

  it('applies to the client behind a trusted proxy, whose address a client cannot forge', async () => {
    const addressLimit = { requests: 1_000, periodSeconds: 60 };
    const proxied = await start({ addressLimit, trustedProxies: parseNetworks('127.0.0.0/8, 10.0.0.0/8')! });
    const left = async (gateway: Gateway, forwarded: string) =>
      remaining(await gateway.rest(CALL, { headers: { 'x-forwarded-for': forwarded } }));
    const client = newAddress();
    expect(await left(proxied, client)).toBe(999);
    expect(await left(proxied, newAddress())).toBe(999);
    expect(await left(proxied, `198.51.100.1, ${client}`)).toBe(998);
    expect(await left(proxied, `198.51.100.2, ${client}, 10.0.0.1`)).toBe(997);
    const direct = await start({ addressLimit });
    const first = await left(direct, newAddress());
    expect(await left(direct, newAddress())).toBe(first - 1);
  });
});

describe('the limits of an IPv6 address', () => {
  it('are one limit for its /64, four times that for its /56, and sixteen times for its /48', async () => {
    const gateway = await start({
      addressLimit: { requests: 3, periodSeconds: 86_400 },
      trustedProxies: LOOPBACK,
    });
    const network = newNetwork();
    const from = async (n56: number, n64: number, n48 = network) => {
      const address = `${n48}:${(n56 * 256 + n64).toString(16)}::1`;
      const answer = await gateway.rest(CALL, { headers: { 'x-forwarded-for': address } });
      return [answer.status, number(answer, 'x-ratelimit-limit'), remaining(answer)];
    };
    // The headers state the limit of the /64, unless a wider network is over its limit.
    for (const n64 of [0, 1, 2, 3]) for (const left of [2, 1, 0]) expect(await from(0, n64)).toEqual([401, 3, left]);
    expect(await from(0, 0)).toEqual([429, 3, 0]);
    expect(await from(0, 4)).toEqual([429, 12, 0]);
    for (let n56 = 1; n56 < 4; n56++)
      for (const n64 of [0, 1, 2, 3]) {
        // One refused request was charged to the /48 too, because the gateway did not know yet that the narrower limit was used up.
        const admitted = n56 === 3 && n64 === 3 ? 2 : 3;
        for (let n = 0; n < admitted; n++) expect(await from(n56, n64)).toEqual([401, 3, 2 - n]);
      }
    expect(await from(4, 0)).toEqual([429, 48, 0]);
    expect(await from(0, 0, newNetwork())).toEqual([401, 3, 2]);
  });

  it('do not apply to a request with a valid key, even if all are used up', async () => {
    const [key] = (await createOrganization('behind', 1_000)).keys;
    const gateway = await start({
      addressLimit: { requests: 1, periodSeconds: 86_400 },
      trustedProxies: LOOPBACK,
    });
    const network = newNetwork();
    const get = (n: number, good?: string) =>
      gateway.rest(CALL, { ...(good && { key: good }), headers: { 'x-forwarded-for': `${network}:${n.toString(16)}00::1` } });
    for (let n = 0; n < 16; n++) expect((await get(n)).status).toBe(401);
    expect((await get(16)).status).toBe(429);
    expect((await get(17, key)).status).toBe(200);
  });
});

describe('while the rate-limit service is down', () => {
  it('the gateway counts each limit locally, and calls the service again once it recovers', async () => {
    const [key] = (await createOrganization('alone', 8)).keys;
    const [other] = (await createOrganization('apart', 8)).keys;
    const wayToLimits = await startRelay(world.stack.addresses.rateLimit);
    const gateway = await start({
      rateLimitAddress: wayToLimits.address,
      addressLimit: { requests: 10, periodSeconds: 60 },
    });
    const before = await gateway.rest(CALL, { key });
    expect([before.status, number(before, 'x-ratelimit-limit'), remaining(before)]).toEqual([200, 8, 7]);

    await wayToLimits.close();
    const answers: RestResponse[] = [];
    for (let n = 0; n < 8; n++) answers.push(await gateway.rest(CALL, { key }));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(answers.map(remaining)).toEqual([7, 6, 5, 4, 3, 2, 1, 0]);
    expectRefused(await gateway.rest(CALL, { key }), 8, 'the organization');
    expect((await gateway.rest(CALL, { key: other })).status).toBe(200);
    const withoutKey = await gateway.rest(CALL);
    expect([withoutKey.status, number(withoutKey, 'x-ratelimit-limit'), remaining(withoutKey)]).toEqual([401, 10, 9]);

    await wayToLimits.open();
    // The service has counted one request in this window, so it admits seven more.
    await vi.waitFor(async () => expect((await gateway.rest(CALL, { key })).status).toBe(200), {
      timeout: 10_000,
      interval: 100,
    });

    wayToLimits.block();
    const started = performance.now();
    expect((await gateway.rest(CALL, { key: other })).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(4_000);
    await wayToLimits.close();
  });
});
