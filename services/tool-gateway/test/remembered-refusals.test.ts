import { setTimeout as sleep } from 'node:timers/promises';
import { parseNetworks } from '@crs/kit/http/address';
import { startWorld, type World } from '@crs/testing/world';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { ask, bearer, errorOf, LEGACY, MODERN, spoken, startGateway, toolCall, type Answer, type Ask } from './_requests.ts';

const LIMIT = { requests: 1, periodSeconds: 86_400 };

let world: World;
let gateway: Awaited<ReturnType<typeof startGateway>>;
let token: string;
let addresses = 0;

beforeAll(async () => {
  world = await startWorld();
  await world.load([
    { type: 'organization', id: 'acme', name: 'Acme', tool_rate_limit: { requests: 3, period_seconds: 86_400 } },
    { type: 'user', organization: 'acme', email: 'ann@acme.example', name: 'Ann' },
  ]);
  token = await bearer(world, 'acme', 'ann@acme.example');
  gateway = await startGateway(world, {
    addressLimit: { requests: 3, periodSeconds: 86_400 },
    signInLimit: LIMIT,
    trustedProxies: parseNetworks('127.0.0.1')!,
    authHttpAddress: world.stack.addresses.authHttp,
  });
});
afterAll(async () => {
  await gateway?.stop();
  await world?.close();
});

const listed = (authorization?: string) => spoken(LEGACY, toolCall('list_calls'), authorization);

/** The app logs each of its answers. */
const isLogged = ({ headers }: Answer) =>
  world.log.some((line) => line.includes('"msg":"request"') && line.includes(String(headers['x-request-id'])));

/** An answer without its waiting time, its request id and its date. */
function timeless({ status, headers, text }: Answer) {
  const { date: _date, 'x-request-id': id, ...others } = headers;
  const lines = Object.entries({ ...others, 'retry-after': typeof others['retry-after'] }).map(String);
  return { status, headers: lines.toSorted(), text: text.replaceAll(String(id), '').replace(/in \d+ s/, '') };
}

it.each<[string, Ask, number]>([
  ['a message without a token', listed(), 401],
  ['a message with text that is no token', listed('Bearer bad'), 401],
  ['GET /mcp', { ...listed(), method: 'GET' }, 401],
  ['a path at which there is nothing', { method: 'GET', path: '/nothing' }, 404],
  ['a page of sign-in', { method: 'GET', path: '/connections' }, 200],
  ['a request of a program', { method: 'POST', path: '/token', headers: { 'content-type': 'text/plain' } }, 400],
])('%s is refused from memory as the app refuses it', async (_, request, status) => {
  const from = `192.0.2.${++addresses}`;
  const send = () => ask(gateway.address, { ...request, headers: { ...request.headers, 'x-forwarded-for': from } });
  const answers: Answer[] = [];
  while (answers.at(-1)?.status !== 429) answers.push(await send());
  expect(answers[0]!.status).toBe(status);
  const refused = answers.at(-1)!;
  const again = await send();
  await sleep(50);
  expect([again.status, isLogged(again)]).toEqual([429, false]);
  expect(timeless(again)).toEqual(timeless(refused));
  const welcome = await ask(gateway.address, {
    ...listed(token),
    headers: { ...listed(token).headers, 'x-forwarded-for': from },
  });
  expect(welcome.status).toBe(200);
});

it('a refused token is refused from memory as by the app, and charged', async () => {
  const from = `192.0.2.${++addresses}`;
  const request = listed(`Bearer ${'x'.repeat(40)}`);
  const send = () => ask(gateway.address, { ...request, headers: { ...request.headers, 'x-forwarded-for': from } });
  const [first, again] = [await send(), await send()];
  await vi.waitFor(() => expect(isLogged(first)).toBe(true), { timeout: 5_000 });
  await sleep(50);
  expect([again.status, isLogged(again)]).toEqual([401, false]);
  expect(again.headers['www-authenticate']).toContain('error="invalid_token"');
  expect(timeless(again)).toEqual(timeless(first));
  expect([(await send()).status, (await send()).status]).toEqual([401, 429]);
});

it('a foreign Host or Origin over the limit of its address is 429', async () => {
  const from = `192.0.2.${++addresses}`;
  const headers = { ...listed().headers, 'x-forwarded-for': from };
  const statuses: number[] = [];
  for (const more of [{}, {}, {}, {}, { host: 'evil.example' }, { origin: 'https://evil.example' }])
    statuses.push((await ask(gateway.address, { ...listed(), headers: { ...headers, ...more } })).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
});

it.each([LEGACY, MODERN])(
  'a call over the limit of its user (%s) is refused from memory as the SDK refuses it',
  async (version) => {
    const email = `of-${version}@acme.example`;
    await world.load([{ type: 'user', organization: 'acme', email, name: 'Of' }]);
    const authorization = await bearer(world, 'acme', email);
    const call = (id: number | string, args: object, tool = 'list_calls') =>
      ask(gateway.address, spoken(version, { ...toolCall(tool, args), id } as never, authorization));
    const answers: Answer[] = [];
    while (!answers.at(-1)?.json.result.isError) answers.push(await call(answers.length, {}));
    const first = answers.at(-1)!;
    const again = await call(answers.length, { scope: 'all' });
    await sleep(50);
    expect(isLogged(again)).toBe(false);
    expect(again.json.id).toBe(answers.length);
    expect({ ...timeless(again), text: '' }).toEqual({ ...timeless(first), text: '' });
    const withoutTime = ({ json, headers }: Answer) =>
      JSON.stringify({ ...json, id: 0 })
        .replaceAll(String(headers['x-request-id']), '')
        .replace(/in \d+ s/, '');
    expect(withoutTime(again)).toBe(withoutTime(first));
    expect(errorOf(again)).toMatchObject({ code: 'rate_limited', request_id: again.headers['x-request-id'] });
    // A call of another form is an SDK's first.
    const others = [await call(1, {}, 'get_call'), await call(1, []), await call(1, {}, 'get_call'), await call(1.5, {})];
    await vi.waitFor(() => expect(others.map(isLogged)).toEqual([true, true, false, true]), { timeout: 5_000 });
    expect(others.map(({ json }) => json.result?.isError)).toEqual([true, undefined, true, undefined]);
  },
);
