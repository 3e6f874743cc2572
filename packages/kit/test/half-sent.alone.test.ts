import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { errorHandler, createHttpApp } from '../src/http/app.ts';
import { readBody } from '../src/http/body.ts';
import { createGateway } from '../src/http/gateway.ts';
import { allowBodyTime } from '../src/http/listener.ts';
import { Refusal } from '../src/http/refusal.ts';
import { log } from './_service.ts';

/** The time within which a body must arrive. */
const BODY_MS = 5_000;
/** The time and the size that the route `/long` allows. */
const LONG_MS = 30_000;
const LONG_BYTES = 200_000;
const NOWHERE = '127.0.0.1:1';

/** The number of bodies that `/read` is reading now. */
let reading = 0;
/** The number of requests to `/unread` that have arrived completely. */
let completed = 0;

/** A gateway with two paths: `/read` reads the body, `/unread` responds without reading it. */
const gateway = createGateway(
  10_000,
  {
    listen: '127.0.0.1:0',
    authAddress: NOWHERE,
    callsAddress: NOWHERE,
    projectsAddress: NOWHERE,
    rateLimitAddress: NOWHERE,
    trustedProxies: [],
    drainMs: 0,
    addressLimit: { requests: 60, periodSeconds: 60 },
    concurrency: 8,
    tenantConcurrency: 32,
    tenantMetrics: false,
  },
  { log },
  () => () => {
    const { app, listener } = createHttpApp({ name: 'test', log, timeoutOf: () => 10_000, addressOf: () => '127.0.0.1' });
    app.post('/read', async (request, response) => {
      reading++;
      const body = await readBody(request).finally(() => reading--);
      response.end(String(body.length));
    });
    app.post('/long', async (request, response) => {
      allowBodyTime(request, LONG_MS);
      if (request.headers['x-unread'] !== undefined) return void response.end('done');
      reading++;
      const body = await readBody(request, { maxBytes: LONG_BYTES, withinMs: LONG_MS }).finally(() => reading--);
      response.end(String(body.length));
    });
    app.post('/unread', (request, response) => {
      request.once('close', () => request.complete && completed++);
      response.end('done');
    });
    app.use(() => {
      throw new Refusal(404, 'not_found', 'There is nothing at this path.');
    });
    app.use(errorHandler(log));
    return listener;
  },
);
let address: string;
beforeAll(async () => ({ http: address } = await gateway.start()));
afterAll(() => gateway.stop());
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

interface Client {
  socket: Socket;
  received: string;
  /** Whether the server has ended the connection. */
  isEnded: boolean;
}

/** Sends bytes, and keeps its own side of the connection open. */
function send(bytes: string): Client {
  const [host = '', port] = address.split(':');
  const socket = createConnection({ host, port: Number(port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  const client: Client = { socket, received: '', isEnded: false };
  socket.setEncoding('utf8').on('data', (text: string) => (client.received += text));
  socket.once('end', () => (client.isEnded = true));
  socket.write(bytes);
  return client;
}

const withLength = (head: string) => `${head}\r\nHost: test\r\nContent-Length: 100\r\n\r\n{"half":`;
const chunked = (head: string) => `${head}\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"half":\r\n`;
const statusOf = ({ received }: Client) => /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1];

/** Waits for a condition in real time, because sockets are real. `expect.poll` would advance the fake clock. */
async function until(condition: () => boolean): Promise<void> {
  for (let n = 0; n < 2_000 && !condition(); n++) await sleep(2);
  expect(condition()).toBe(true);
}

it.each([
  ['refused', 'POST /nothing HTTP/1.1', '404'],
  ['refused, with an unknown Expect header,', 'POST /nothing HTTP/1.1\r\nExpect: nonsense', '404'],
  ['answered', 'POST /unread HTTP/1.1', '200'],
])('the gateway ends the connection of a request that was %s before its body arrived, after 5 s', async (_, head, status) => {
  const clients = [send(withLength(head)), send(chunked(head))];
  await until(() => clients.every(({ received }) => received !== ''));
  expect(clients.map(statusOf)).toEqual([status, status]);
  vi.advanceTimersByTime(BODY_MS - 1);
  await sleep(20);
  expect(clients.map(({ isEnded }) => isEnded)).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  await until(() => clients.every(({ isEnded }) => isEnded));
});

it('the gateway refuses a request whose body does not arrive within 5 s, and ends its connection', async () => {
  const clients = [send(withLength('POST /read HTTP/1.1')), send(chunked('POST /read HTTP/1.1'))];
  await until(() => reading === 2);
  vi.advanceTimersByTime(BODY_MS - 1);
  await sleep(20);
  expect(clients.map(({ received }) => received)).toEqual(['', '']);
  vi.advanceTimersByTime(1);
  await until(() => clients.every(({ isEnded }) => isEnded));
  expect(clients.map(statusOf)).toEqual(['408', '408']);
  for (const { received } of clients) expect(received).toContain('"message":"The body did not arrive within 5 s."');
});

it('a route may allow a body more time, whether it reads it or not', async () => {
  const clients = [
    send(withLength('POST /long HTTP/1.1')),
    send(chunked('POST /long HTTP/1.1')),
    send(withLength('POST /long HTTP/1.1\r\nX-Unread: yes')),
  ];
  await until(() => reading === 2 && clients[2]!.received !== '');
  vi.advanceTimersByTime(LONG_MS - 1);
  await sleep(20);
  expect(clients.map(({ isEnded }) => isEnded)).toEqual([false, false, false]);
  vi.advanceTimersByTime(1);
  await until(() => clients.every(({ isEnded }) => isEnded));
  expect(clients.map(statusOf)).toEqual(['408', '408', '200']);
});

it.each([1, 7, 65_536])('a route may allow a larger body, which arrives whole in chunks of %i bytes', async (size) => {
  const chunks = (bytes: number) => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`.repeat(Math.floor(bytes / size));
  const admitted = Math.floor(LONG_BYTES / size) * size;
  const head = 'POST /long HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n';
  const client = send(`${head}${chunks(LONG_BYTES)}0\r\n\r\n`);
  await until(() => client.received.endsWith(String(admitted)));
  const tooLarge = send(`${head}${chunks(LONG_BYTES + size)}0\r\n\r\n`);
  await until(() => statusOf(tooLarge) === '413');
});

it.each([
  ['by its Content-Length, before it reads any of it', 'Content-Length: 65537\r\n\r\n{'],
  ['once it has read more than the limit', `Transfer-Encoding: chunked\r\n\r\n10001\r\n${' '.repeat(65_537)}`],
])('the gateway refuses a body that is too large %s, and ends its connection', async (_, rest) => {
  const client = send(`POST /read HTTP/1.1\r\nHost: test\r\n${rest}`);
  await until(() => client.received !== '');
  expect(statusOf(client)).toBe('413');
  vi.advanceTimersByTime(BODY_MS);
  await until(() => client.isEnded);
});

it('the gateway keeps the connection of a request whose body arrives after the response', async () => {
  const client = send('POST /unread HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nha');
  await until(() => client.received !== '');
  client.socket.write('lf');
  await until(() => completed === 1);
  vi.advanceTimersByTime(2 * BODY_MS);
  client.received = '';
  client.socket.write('POST /nothing HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n');
  await once(client.socket, 'data');
  expect(statusOf(client)).toBe('404');
});
