import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createApiKey, digestOf } from '@crs/kit/product/api-key';
import type { RestRequest, RestResponse } from '@crs/testing/rest';
import { startWorld, type World } from '@crs/testing/world';
import { comparable, sendBytes } from './_answers.ts';
import { startGateway, type Gateway } from './_gateway.ts';

const CALL = '/v1/calls/call_1';

let world: World;
let gateway: Gateway;
/** Admits one request of an address. */
let strict: Gateway;
const keys: Record<'over' | 'other', string> = { over: '', other: '' };

beforeAll(async () => {
  world = await startWorld();
  for (const [id, requests] of Object.entries({ over: 1, other: 100_000 })) {
    await world.load([
      { type: 'organization', id, name: id, rate_limit: { requests, period_seconds: 86_400 } },
      { type: 'call', organization: id, id: 'call_1', created_at: '2025-03-01T00:00:00Z' },
    ]);
    keys[id as 'over'] = await world.createKey(id);
  }
  gateway = await startGateway(world, {});
  strict = await startGateway(world, { addressLimit: { requests: 1, periodSeconds: 86_400 } });
  for (const each of [gateway, strict]) await each.rest(CALL, { key: keys.other });
  await gateway.rest(CALL, { key: keys.over });
  await strict.rest(CALL);
});
afterAll(async () => {
  await gateway?.stop();
  await strict?.stop();
  await world?.close();
});

const remaining = ({ headers }: RestResponse) => Number(headers.get('x-ratelimit-remaining'));

/** An answer without its waiting time. */
function timeless(answer: RestResponse) {
  const { status, headers, text } = comparable(answer);
  return {
    status,
    headers: headers.map((line) => line.replace(/^(retry-after): \d+$/, '$1')),
    text: text.replace(/\d+ s\./, ''),
  };
}

/** The app logs each of its answers. */
const isLogged = ({ headers }: RestResponse) =>
  world.log.some((line) => line.includes('"msg":"request"') && line.includes(headers.get('x-request-id')!));

describe.each<[string, () => Gateway, () => string | undefined, number]>([
  ['a key whose organization is over its limit', () => gateway, () => keys.over, 429],
  ['an address over its limit', () => strict, createApiKey, 429],
  ['an unknown key', () => gateway, createApiKey, 401],
])('%s', (_, to, newKey, status) => {
  it.each<RestRequest>([{}, { method: 'HEAD' }, { method: 'POST', body: 'x'.repeat(10_000) }])(
    'is refused from memory as the app refuses it: %o',
    async (request) => {
      const key = newKey();
      const ask = () => to().rest(CALL, { ...request, key });
      // The first answer makes the gateway know the credential and its limit.
      const [first, again] = [await ask(), await ask()];
      expect(again.status).toBe(status);
      expect(timeless(again)).toEqual(timeless(first));
      await sleep(50);
      expect(isLogged(again)).toBe(false);
      expect(remaining(again)).toBe(status === 429 ? 0 : remaining(first) - 1);
      expect(Number(again.headers.get('x-ratelimit-reset')) * 1_000).toBeGreaterThan(Date.now());
    },
  );
});

it('is counted in the log, with its sender', async () => {
  const key = createApiKey();
  for (let n = 0; n < 3; n++) await gateway.rest(CALL, { key });
  const credential = digestOf(key).toString('hex', 0, 6);
  const counted = () => world.log.map((line) => JSON.parse(line)).filter((line) => line.msg === 'refused again');
  const facts = { status: 401, client_address: '127.0.0.1', credential, count: 2 };
  await vi.waitFor(() => expect(counted()).toContainEqual(expect.objectContaining(facts)), { timeout: 5_000 });
});

it('the app answers what a refused credential may have, or what is wrong before the credential matters', async () => {
  const key = createApiKey();
  expect((await gateway.rest(CALL, { key })).status).toBe(401);
  const open = [
    ['/v1/openapi.json', 200],
    ['/docs', 200],
    ['/nothing', 404],
    ['/v1', 401],
  ] as const;
  for (const [path, status] of open) {
    const answer = await gateway.rest(path, { key });
    expect([path, answer.status]).toEqual([path, status]);
    await vi.waitFor(() => expect(isLogged(answer)).toBe(true), { timeout: 5_000 });
  }
  const head = `GET ${CALL} HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n`;
  for (const hosts of ['', 'Host:\r\n', 'Host: a\r\nHost: b\r\n'])
    expect((await sendBytes(gateway.address, `${head}${hosts}\r\n`)).map(({ status }) => status)).toEqual([400]);
});

it('answers keep the order of the requests of a connection, and bodies are skipped', async () => {
  const request = (key: string, more = '') => `Host: test\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`;
  const served = `GET ${CALL} HTTP/1.1\r\n${request(keys.other)}`;
  const refused = `GET ${CALL} HTTP/1.1\r\n${request(keys.over)}`;
  const posted = `POST ${CALL} HTTP/1.1\r\n${request(keys.over, 'Content-Length: 9\r\n')}{"a":"GET`;
  const last = `GET ${CALL} HTTP/1.1\r\n${request(keys.other, 'Connection: close\r\n')}`;
  await gateway.rest(CALL, { key: keys.over });
  const answers = await sendBytes(gateway.address, served + refused + posted + refused + served + last);
  expect(answers.map(({ status }) => status)).toEqual([200, 429, 429, 429, 200, 200]);
});

it('a refused request whose body breaks gets one answer', async () => {
  await gateway.rest(CALL, { key: keys.over });
  const head = `POST ${CALL} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${keys.over}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const answers = await sendBytes(gateway.address, `${head}nonsense\r\n\r\n`);
  expect(answers.map(({ status }) => status)).toEqual([429]);
});
