import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CallResearch } from '../src/index.ts';
import { VERSION } from '../src/version.ts';

let server: Server;
let client: CallResearch;
let requests = 0;

beforeEach(async () => {
  requests = 0;
  // A permanent outage, with a wait that outlasts each test.
  server = createServer((_request, response) => {
    requests++;
    response.writeHead(503, { 'Retry-After': '60' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new CallResearch({ key: 'crk_x', baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/` });
});
afterEach(() => server.close());

it('aborting the signal ends the wait for a retry at once, with the reason of the signal', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const call = client.getCall('a', {}, { signal: controller.signal });
  while (requests === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  setTimeout(() => controller.abort(reason), 50);
  const began = performance.now();
  await expect(call).rejects.toBe(reason);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(requests).toBe(1);
});

it('an already aborted signal ends the call without a request', async () => {
  await expect(client.billingOffices({ signal: AbortSignal.abort() })).rejects.toThrow('aborted');
  expect(requests).toBe(0);
});

it('options of a call override those of the client', async () => {
  await expect(client.billingOffices({ maxRetries: 0 })).rejects.toMatchObject({
    name: 'ServerError',
    status: 503,
    retryAfter: 60,
  });
});

it('the constructor throws for a key that can not be sent in a header', () => {
  expect(() => new CallResearch({ key: 'crk_\nx', baseUrl: 'http://x' })).toThrow(TypeError);
});

it.each(['', 'nonsense', 'ftp://x', 'https://'])(
  'the constructor throws for the base URL %j, and names the schemes that it may have',
  (baseUrl) => {
    expect(() => new CallResearch({ key: 'crk_x', baseUrl })).toThrow('baseUrl: must begin with https:// or http://');
  },
);

it('VERSION is the version in package.json', () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  expect(VERSION).toBe(version);
});
