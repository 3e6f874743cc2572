import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseNetworks } from '@crs/kit/http/address';
import { RateLimiter } from '@crs/kit/limits/limiter';
import { widen } from '@crs/kit/limits/rule';
import { createLogger } from '@crs/kit/process/log';
import { sendRaw } from '@crs/testing/send-raw';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import {
  ask,
  bearer,
  errorOf,
  LEGACY,
  message,
  MODERN,
  newAddress,
  spoken,
  startGateway,
  toolCall,
  type Ask,
} from './_requests.ts';

const ANN = 'ann@example.com';
const BOB = 'bob@example.com';
const CARL = 'carl@example.com';
const DORA = 'dora@example.com';
const EVA = 'eva@example.com';
const [ACME, GLOBEX] = [tenant('acme'), tenant('globex')];
/** The limit of an address for requests without a token, and of a user of acme for tool calls. */
const LIMIT = 3;
const LIMIT_OF_GLOBEX = 100;

let world: World;
/** New for each test, as is the client address. */
let gateway: Awaited<ReturnType<typeof startGateway>>;
let address: string;

beforeAll(async () => {
  world = await sharedWorld();
  for (const organization of [ACME, GLOBEX]) {
    const toolRateLimit = { requests: organization === ACME ? LIMIT : LIMIT_OF_GLOBEX, period_seconds: 60 };
    await world.load([
      { type: 'organization', id: organization, name: organization, tool_rate_limit: toolRateLimit },
      ...[ANN, BOB, CARL, DORA, EVA].map((email) => ({ type: 'user', organization, email, name: email })),
    ]);
  }
});
beforeEach(async () => {
  address = newAddress();
  const trustedProxies = parseNetworks('127.0.0.1')!;
  gateway = await startGateway(world, { addressLimit: { requests: LIMIT, periodSeconds: 60 }, trustedProxies });
});
afterEach(() => gateway?.stop());

const numbers = (length: number) => Array.from({ length }, () => 1);
const nested = (depth: number): unknown => (depth === 1 ? [] : [nested(depth - 1)]);
const valuesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.values(value).reduce<number>((sum, each) => sum + valuesOf(each), 1) : 1;
const send = (request: Ask, from = address) =>
  ask(gateway.address, { ...request, headers: { ...request.headers, 'x-forwarded-for': from } });
const listed = (authorization?: string) => spoken(LEGACY, toolCall('list_calls'), authorization);
const statuses = async (times: number, request: Ask) => {
  const all: number[] = [];
  for (let n = 0; n < times; n++) all.push((await send(request)).status);
  return all;
};

describe('without a usable token', () => {
  it.each<[string, Ask, number]>([
    ['a request without a token', listed(), 401],
    ['a request with a bad token', listed('Bearer bad'), 401],
    ['a GET with a bad token', { ...listed('Bearer bad'), method: 'GET' }, 401],
    ['a request for the metadata', { method: 'GET', path: '/.well-known/oauth-protected-resource' }, 200],
    ['a request for an unknown path', { method: 'GET', path: '/nothing' }, 404],
  ])('%s is charged to its address, and gets 429 beyond the limit', async (_, request, status) => {
    expect(await statuses(LIMIT, request)).toEqual(Array.from({ length: LIMIT }, () => status));
    const { status: over, headers, json } = await send(request);
    expect([over, json.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(50);
    expect(json.error.message).toContain(`${headers['retry-after']} s`);
    expect(headers['www-authenticate']).toBeUndefined();
    expect((await send(request, newAddress())).status).toBe(status);
  });

  it('requests that use up the limit of an address do not affect requests with a good token from it', async () => {
    await statuses(LIMIT + 1, listed());
    expect(await statuses(1, listed())).toEqual([429]);
    expect(await statuses(LIMIT + 1, listed(await bearer(world, GLOBEX, ANN)))).toEqual(
      Array.from({ length: LIMIT + 1 }, () => 200),
    );
  });

  it('a refused request returns a 429 that pages can read, and preflights have a separate limit', async () => {
    const origin = 'http://localhost:6274';
    const headers = { origin, 'access-control-request-method': 'POST' };
    expect(await statuses(LIMIT + 1, { method: 'OPTIONS', headers })).toEqual(Array.from({ length: LIMIT + 1 }, () => 204));
    await statuses(LIMIT, listed());
    const answer = await send({ ...listed(), headers: { ...listed().headers, origin } });
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([429, origin]);
  });
});

describe('with a usable token', () => {
  it('only calls of known tools within the token’s scopes are charged to the tool limit of the user, whatever their result', async () => {
    const full = await bearer(world, ACME, ANN);
    const narrow = await bearer(world, ACME, ANN, ['projects:read']);
    const free: Ask[] = [
      spoken(LEGACY, message('tools/list'), full),
      spoken(MODERN, message('tools/list'), full),
      spoken(LEGACY, message('ping'), full),
      spoken(LEGACY, toolCall('nope'), full),
      spoken(MODERN, toolCall('nope'), full),
      listed(narrow),
      spoken(MODERN, toolCall('list_calls'), narrow),
      { ...listed(full), method: 'GET' },
      { ...listed(full), body: '{' },
      { ...listed(full), headers: { ...listed(full).headers, 'mcp-protocol-version': '1999-01-01' } },
      { ...spoken(MODERN, toolCall('list_calls'), full), headers: { ...listed(full).headers, 'mcp-protocol-version': MODERN } },
    ];
    for (const request of free) await send(request);

    const bad = spoken(LEGACY, toolCall('list_calls', { limit: 0 }), full);
    expect(errorOf(await send(bad)).code).toBe('bad_request');
    expect((await send(spoken(MODERN, toolCall('list_calls'), full))).json.result.isError).toBeUndefined();
    // All tokens of a user share one limit.
    expect((await send(spoken(LEGACY, toolCall('list_projects'), narrow))).json.result.isError).toBeUndefined();
    for (const request of [listed(full), spoken(MODERN, toolCall('list_projects'), narrow)]) {
      const answer = await send(request);
      const { code, message: words } = errorOf(answer);
      expect([answer.status, code]).toEqual([200, 'rate_limited']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(50);
      expect(words).toBe(`The rate limit of the user is used up. Try again in ${answer.headers['retry-after']} s.`);
    }
    // Other messages have a separate limit. Another user has its own limit, and so has a user with the same e-mail in another organization.
    expect((await send(free[0]!)).status).toBe(200);
    for (const [organization, email] of [
      [ACME, BOB],
      [GLOBEX, ANN],
    ] as const) {
      expect((await send(listed(await bearer(world, organization, email)))).json.result.isError).toBeUndefined();
    }
    // Nothing was charged to the address.
    expect(await statuses(LIMIT, listed())).toEqual(Array.from({ length: LIMIT }, () => 401));
  });
});

it('a request whose body is malformed is charged once, as a message of the user', async () => {
  const token = await bearer(world, GLOBEX, EVA);
  const { headers } = listed(token);
  const lines = Object.entries({ ...headers, 'x-forwarded-for': address }).map(([name, value]) => `${name}: ${value}`);
  const broken = [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    ...lines,
    'Transfer-Encoding: chunked',
    '',
    '3',
    '{"a',
    'nonsense',
    '',
  ];
  const times = 5;
  for (let n = 0; n < times; n++)
    expect(await sendRaw(gateway.address, broken.join('\r\n'))).toMatch(/^HTTP\/1\.1 400 [^]*^Connection: close\r$/m);

  const { rows } = await world.query('select user_id from auth.users where organization = $1 and email = $2', [GLOBEX, EVA]);
  const rule = widen({ requests: LIMIT_OF_GLOBEX, periodSeconds: 60 }, 10);
  const check = { kind: 'user', id: `${GLOBEX}/${rows[0].user_id} messages`, rule } as const;
  const limiter = new RateLimiter({ address: world.stack.addresses.rateLimit, log: createLogger('test', { level: 'silent' }) });
  // Poll, because Node responds before the gateway charges. Each check of the counter is charged too, so subtract those.
  let checks = 0;
  const charged = async () => rule.requests - (await limiter.check(check)).remaining - ++checks;
  await expect.poll(charged, { interval: 100, timeout: 2_000 }).toBe(times);
  limiter.close();
  // Nothing was charged to the address.
  expect(await statuses(LIMIT, listed())).toEqual(Array.from({ length: LIMIT }, () => 401));
});

describe.each([LEGACY, MODERN])('messages of %s that call no tool', (version) => {
  const email = version === LEGACY ? CARL : DORA;

  it('share a limit per user ten times as high as the one for tool calls, and get 429 beyond it', async () => {
    const token = await bearer(world, ACME, email);
    const methods = ['tools/list', 'ping', 'initialize', 'server/discover', 'notifications/initialized', 'nope'];
    const messages = methods.map((method) => spoken(version, message(method), token));
    const unknown = spoken(version, toolCall('nope'), token);
    for (let n = 0; n < 10 * LIMIT; n++)
      expect((await send([...messages, unknown][n % (methods.length + 1)]!)).status).not.toBe(429);
    for (const request of [...messages, unknown]) {
      const { status, headers, json } = await send(request);
      expect([status, json.error.code]).toEqual([429, 'rate_limited']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(50);
    }
  });

  it.each<[string, (body: object) => unknown, number | undefined]>([
    ['64 KiB', (body) => JSON.stringify(body).padEnd(65_536), undefined],
    ['1,000 values', (body) => ({ ...body, more: numbers(1_000 - valuesOf(body) - 1) }), undefined],
    ['1,001 values', (body) => ({ ...body, more: numbers(1_000 - valuesOf(body)) }), -32600],
    ['60,000 bytes of values', (body) => ({ ...body, more: numbers(30_000) }), -32600],
    ['32 deep', (body) => ({ ...body, more: nested(31) }), undefined],
    ['33 deep', (body) => ({ ...body, more: nested(32) }), -32600],
    ['30,000 deep', (body) => JSON.stringify(body).slice(0, -1) + `,"more":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, -32600],
  ])('are limited in bytes, values and depth: %s', async (_, wrap, code) => {
    const { headers, body } = spoken(version, message('tools/list'), await bearer(world, GLOBEX, email));
    const answer = await send({ headers, body: wrap(body) });
    if (code === undefined)
      expect([answer.status, answer.json.error?.message]).not.toEqual([400, expect.stringContaining('JSON values')]);
    else
      expect([answer.status, answer.json.error]).toEqual([
        400,
        { code, message: expect.stringContaining('at most 1000 JSON values') },
      ]);
  });
});

describe('while the calls service is down', () => {
  it('a tool call returns an error that it is unavailable, with a retry time', async () => {
    const alone = await startGateway(world, { callsAddress: '127.0.0.1:1', timeoutMs: 1_000 });
    try {
      const authorization = await bearer(world, GLOBEX, BOB);
      for (const version of [LEGACY, MODERN]) {
        const answer = await ask(alone.address, spoken(version, toolCall('list_calls'), authorization));
        expect([answer.status, answer.headers['retry-after'], errorOf(answer)]).toEqual([
          200,
          '1',
          {
            code: 'internal_error',
            message: 'The service is not available right now. Try again shortly. (Retry after 1 s.)',
            request_id: answer.headers['x-request-id'],
          },
        ]);
      }
    } finally {
      await alone.stop();
    }
  });
});
