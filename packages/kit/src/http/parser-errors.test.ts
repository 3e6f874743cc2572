import { once } from 'node:events';
import { createServer, type Server, type ServerOptions } from 'node:http';
import { createConnection, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '../process/log.ts';
import type { Check, RateLimiter } from '../limits/limiter.ts';
import { answerParserErrors } from './parser-errors.ts';
import { RefusalCounts } from './refusal-counts.ts';

const addressLimit = { requests: 60, periodSeconds: 60 };
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Starts a server that answers `ok` after `delayMs` and charges each bad request in `chargeMs`. */
async function start({
  delayMs = 0,
  chargeMs = 0,
  limit = 60,
  ...options
}: ServerOptions & { delayMs?: number; chargeMs?: number; limit?: number }) {
  const charged: Check[] = [];
  const check = async (charge: Check) => {
    charged.push(charge);
    await sleep(chargeMs);
    return { allowed: charged.length <= limit, limit: 60, remaining: 59, resetInMs: 1_000, source: 'service' };
  };
  const lines: string[] = [];
  const log = createLogger('test', { destination: { write: (line) => void lines.push(line) } });
  const server = createServer(options, (_request, response) => void sleep(delayMs).then(() => response.end('ok')));
  servers.push(server);
  const refusals = new RefusalCounts(log);
  answerParserErrors(server, {
    refusals,
    limiter: { check } as unknown as RateLimiter,
    addressLimit,
    trustedProxies: [],
    log,
    name: 'test',
    showLimits: true,
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const connect = (allowHalfOpen = false): Socket =>
    createConnection({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen });
  return { connect, charged, lines, refusals };
}

const statuses = (received: string) => [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

it.each(['GET / HT', 'GET / HTTP/1.1\r\nHost: te'])('a request that stops after %j is 408', async (begun) => {
  const { connect, charged } = await start({
    headersTimeout: 50,
    requestTimeout: 50,
    connectionsCheckingInterval: 20,
    delayMs: 1_000,
  });
  const socket = connect();
  socket.write(begun);
  const received = await text(socket);
  expect(statuses(received)).toEqual([408]);
  expect(received).toMatch(/^X-RateLimit-Limit: 60\r$/m);
  expect(received).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
  expect(received).toMatch(/^Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r$/m);
  expect(received).toContain('"code":"bad_request"');
  expect(charged).toEqual([{ kind: 'address', id: '127.0.0.1', rule: addressLimit }]);
});

describe('a request whose body', () => {
  it.each([
    ['stops', 'Content-Length: 10\r\n\r\nfive!'],
    ['breaks', 'Transfer-Encoding: chunked\r\n\r\nnonsense\r\n'],
  ])('%s is charged and answered by the app alone, before or after', async (_, rest) => {
    for (const delayMs of [0, 200]) {
      const { connect, charged } = await start({
        headersTimeout: 50,
        requestTimeout: 50,
        connectionsCheckingInterval: 20,
        delayMs,
      });
      const socket = connect();
      socket.write(`POST / HTTP/1.1\r\nHost: test\r\n${rest}`);
      expect(statuses(await text(socket))).toEqual([200]);
      expect(charged).toEqual([]);
    }
  });
});

it('a connection that keeps sending nonsense is charged and answered once', async () => {
  const { connect, charged } = await start({ chargeMs: 100 });
  const socket = connect();
  for (let n = 0; n < 10; n++) {
    socket.write('nonsense\r\n');
    await sleep(2);
  }
  expect(statuses(await text(socket))).toEqual([400]);
  expect(charged).toHaveLength(1);
});

it('earlier requests are answered before the bad one is refused', async () => {
  const { connect } = await start({ delayMs: 100 });
  const socket = connect();
  socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\nGET / HTTP/1.1\r\nHost: test\r\n\r\nnonsense\r\n\r\n');
  expect(statuses(await text(socket))).toEqual([200, 200, 400]);
});

it('a client that never hangs up is disconnected', async () => {
  const { connect } = await start({});
  const socket = connect(true);
  socket.on('error', () => {});
  socket.write('nonsense\r\n\r\n');
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const writing = setInterval(() => socket.write('x'), 20);
  await closed;
  clearInterval(writing);
});

it('the log has the request id of the answer', async () => {
  const { connect, lines } = await start({});
  const socket = connect();
  socket.write('nonsense\r\n\r\n');
  const [, id] = /"request_id":"(\w+)"/.exec(await text(socket))!;
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ status: 400, trace_id: id }]);
});

it('bytes beyond the limit of their address share one line of the log', async () => {
  const { connect, lines, refusals } = await start({ limit: 2 });
  for (let n = 0; n < 5; n++) {
    const socket = connect();
    socket.write('nonsense\r\n\r\n');
    expect(statuses(await text(socket))).toEqual([400]);
  }
  refusals.flush();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'unparsable request', status: 400 },
    { msg: 'unparsable request', status: 400 },
    // The first beyond the limit.
    { msg: 'unparsable request', status: 400 },
    { msg: 'refused again', status: 400, client_address: '127.0.0.1', count: 2 },
  ]);
});
