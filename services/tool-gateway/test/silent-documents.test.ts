import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseNetworks } from '@crs/kit/http/address';
import { startWorld, type OwnWorld } from '@crs/testing/world';
import { ask, startGateway, type Answer, type Ask } from './_requests.ts';

const HOST = 'tools.example';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const ADDRESSES = 60;
/** Requests from each address: in all, more than the 128 slots that the gateway has for sign-in. */
const PER_ADDRESS = 3;
/** Longer than the test takes on a busy machine. */
const TIMEOUT_MS = 30_000;

let world: OwnWorld;
let gateway: Awaited<ReturnType<typeof startGateway>>;
/** Accepts connections and never responds. */
let silent: Server;
let origin: string;

beforeAll(async () => {
  silent = createServer((socket) => void socket.on('error', () => {}));
  await once(silent.listen(0, '127.0.0.1'), 'listening');
  const host = `localhost:${(silent.address() as AddressInfo).port}`;
  origin = `https://${host}`;
  world = await startWorld({ cimdAllowHosts: [host] });
  gateway = await startGateway(world, {
    trustedProxies: parseNetworks('127.0.0.1')!,
    authHttpAddress: world.stack.addresses.authHttp,
    timeoutMs: TIMEOUT_MS,
  });
});
afterAll(async () => {
  await gateway?.stop();
  await world?.close();
  silent?.close();
});

const send = (from: string, request: Ask) =>
  ask(gateway.address, { method: 'GET', ...request, headers: { host: HOST, ...request.headers, 'x-forwarded-for': from } });

it('sign-in and tokens are served while 60 addresses send client ids that are URLs of a host that never responds', async () => {
  const registration = { redirect_uris: ['https://client.example/callback'], token_endpoint_auth_method: 'none' };
  const json = { 'content-type': 'application/json' };
  const registered = await send('192.0.2.1', { method: 'POST', path: '/register', headers: json, body: registration });
  const answers: Answer[] = [];
  const all = Promise.all(
    Array.from({ length: ADDRESSES * PER_ADDRESS }, async (_, n) => {
      const path = `/authorize?${new URLSearchParams({ client_id: `${origin}/${n}`, response_type: 'code' }).toString()}`;
      answers.push(await send(`2001:db8:0:${(n % ADDRESSES).toString(16)}::1`, { path }));
    }),
  );
  const refused = () => answers.filter(({ status }) => status === 503);
  // All but the one request that waits for its document, or a few in turn on a slow machine.
  await expect.poll(() => refused().length, { timeout: TIMEOUT_MS }).toBeGreaterThan(ADDRESSES * PER_ADDRESS - 10);
  expect(refused()[0]!.headers['retry-after']).toBe('2');

  const person = '2001:db8:ffff::1';
  expect((await send(person, { path: '/connections' })).status).toBe(200);
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    client_id: registered.json.client_id,
    refresh_token: 'none',
  }).toString();
  const token = await send(person, { method: 'POST', path: '/token', headers: FORM, body });
  expect([token.status, token.json.error]).toEqual([400, 'invalid_grant']);
  await all;
});
