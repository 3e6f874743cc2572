import { parseNetworks } from '@crs/kit/http/address';
import { FEW_LINES, logged as loggedIn } from '@crs/testing/logged';
import { sharedWorld, tenant, type World } from '@crs/testing/world';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ask, bearer, LEGACY, message, newAddress, spoken, startGateway, type Answer, type Ask } from './_requests.ts';

const LIMIT = 3;
const PREFLIGHTS = 10 * LIMIT;
const HOST = 'tools.example';

const ORGANIZATIONS = [tenant('acme'), tenant('globex')];

let world: World;
let gateway: Awaited<ReturnType<typeof startGateway>>;
const log: string[] = [];

beforeAll(async () => {
  world = await sharedWorld();
  for (const id of ORGANIZATIONS)
    await world.load([
      { type: 'organization', id, name: id },
      { type: 'user', organization: id, email: 'ann@example.com', name: 'Ann' },
    ]);
  const { stack } = world;
  gateway = await startGateway(
    { stack, log },
    {
      loopback: false,
      addressLimit: { requests: LIMIT, periodSeconds: 86_400 },
      signInLimit: { requests: LIMIT, periodSeconds: 86_400 },
      trustedProxies: parseNetworks('127.0.0.1')!,
      authHttpAddress: world.stack.addresses.authHttp,
    },
  );
});
afterAll(() => gateway?.stop());

const send = (from: string, request: Ask) =>
  ask(gateway.address, { ...request, headers: { host: HOST, ...request.headers, 'x-forwarded-for': from } });
const sendAll = async (from: string, request: Ask, times: number): Promise<number[]> => {
  const answers: Answer[] = [];
  for (let n = 0; n < times; n++) answers.push(await send(from, request));
  return answers.map(({ status }) => status);
};
const listed = (authorization?: string) => spoken(LEGACY, message('tools/list'), authorization);
const preflight = { origin: `http://${HOST}`, 'access-control-request-method': 'POST' };
const logged = (status: number, from: string) => loggedIn(log, status, from);

describe.each<[string, Ask, number, number]>([
  ['a message for a foreign Host', { ...listed(), headers: { ...listed().headers, host: 'evil.example' } }, 403, LIMIT],
  [
    'a message from a foreign page',
    { ...listed(), headers: { ...listed().headers, origin: 'https://evil.example' } },
    403,
    LIMIT,
  ],
  ['a preflight for a message', { method: 'OPTIONS', headers: preflight }, 204, PREFLIGHTS],
  [
    'a preflight from a foreign page',
    { method: 'OPTIONS', headers: { ...preflight, origin: 'https://evil.example' } },
    403,
    PREFLIGHTS,
  ],
  ['a sign-in page for a foreign Host', { method: 'GET', path: '/connections', headers: { host: 'evil.example' } }, 403, LIMIT],
  ['a preflight for sign-in', { method: 'OPTIONS', path: '/token', headers: preflight }, 204, PREFLIGHTS],
  ['OPTIONS at sign-in without the headers of a preflight', { method: 'OPTIONS', path: '/token' }, 204, LIMIT],
  ['a wrong method at sign-in', { method: 'DELETE', path: '/token' }, 405, LIMIT],
  [
    'a preflight for the metadata',
    { method: 'OPTIONS', path: '/.well-known/oauth-protected-resource', headers: preflight },
    204,
    PREFLIGHTS,
  ],
])('%s', (_, request, status, limit) => {
  it(`is charged to its address, and gets 429 beyond ${limit} requests, which the log counts`, async () => {
    const from = newAddress();
    expect(await sendAll(from, request, limit)).toEqual(Array.from({ length: limit }, () => status));
    const more = 20;
    expect(await sendAll(from, request, more)).toEqual(Array.from({ length: more }, () => 429));
    await vi.waitFor(() => expect(logged(429, from).requests).toBe(more), { timeout: 5_000 });
    expect(logged(429, from).lines).toBeLessThan(FEW_LINES);
    expect(logged(status, from)).toEqual({ lines: limit, requests: limit });
  });
});

it('preflights and other requests have separate limits', async () => {
  const from = newAddress();
  const ofMessage: Ask = { method: 'OPTIONS', headers: preflight };
  expect(new Set(await sendAll(from, ofMessage, PREFLIGHTS))).toEqual(new Set([204]));
  expect(await sendAll(from, listed(), LIMIT + 1)).toEqual([401, 401, 401, 429]);
  const other = newAddress();
  expect(await sendAll(other, listed(), LIMIT + 1)).toEqual([401, 401, 401, 429]);
  expect(await sendAll(other, ofMessage, 1)).toEqual([204]);
});

it('refusals of distinct made-up tokens from an address over its limit share log lines', async () => {
  const from = newAddress();
  await sendAll(from, listed(), LIMIT + 1);
  const flood = 100;
  const answers = await Promise.all(Array.from({ length: flood }, (_, n) => send(from, listed(`Bearer made-up-${n}`))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]));
  // The request that used up the limit was the first 429.
  await vi.waitFor(() => expect(logged(429, from).requests).toBe(flood + 1), { timeout: 5_000 });
  expect(logged(429, from).lines).toBeLessThan(FEW_LINES);
});

it('good tokens that the gateway has not cached are served from an address over its limit', async () => {
  const from = newAddress();
  await sendAll(from, listed(), LIMIT + 1);
  for (const organization of ORGANIZATIONS)
    expect((await send(from, listed(await bearer(world, organization, 'ann@example.com')))).status).toBe(200);
});

it('for sign-in, a /56 has four times the limit of a /64, and a /48 sixteen times', async () => {
  const page: Ask = { method: 'GET', path: '/connections' };
  const network = (n56: number, n64: number) => `2001:db8:7:${(n56 * 256 + n64).toString(16)}::1`;
  const fill = async (n56: number) => {
    for (let n64 = 0; n64 < 4; n64++)
      expect(await sendAll(network(n56, n64), page, LIMIT)).toEqual(Array.from({ length: LIMIT }, () => 200));
  };
  for (let n56 = 0; n56 < 3; n56++) await fill(n56);
  expect(await sendAll(network(3, 0), page, 1)).toEqual([200]);
  // The first of these is also charged to the /48, because the gateway doesn't know yet that the /56 is used up.
  expect(await sendAll(network(0, 99), page, 3)).toEqual([429, 429, 429]);
  expect(await sendAll(network(0, 98), page, 3)).toEqual([429, 429, 429]);
  for (let n56 = 4; n56 < 14; n56++) expect(await sendAll(network(n56, 0), page, 1)).toEqual([200]);
  expect(await sendAll(network(200, 0), page, 1)).toEqual([429]);
  expect(await sendAll('2001:db8:8::1', page, 1)).toEqual([200]);
});
