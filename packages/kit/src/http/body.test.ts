import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createConnection, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '../process/log.ts';
import { answerErrors, createHttpApp } from './app.ts';
import { bodyReader } from './body.ts';

let server: Server;
let port: number;
let arrived: string[];

beforeEach(async () => {
  arrived = [];
  const log = createLogger('test', { level: 'silent' });
  const { app, listener } = createHttpApp({ name: 'test', log, timeoutOf: () => 60_000, addressOf: () => '127.0.0.1' });
  const read = bodyReader({ maxBytes: 100, perAddress: 2, total: 3 });
  app.post('/:address', async (request, response) => {
    const { address } = request.params;
    arrived.push(address);
    response.end(await read(request, response, address));
  });
  app.use(answerErrors(log));
  server = createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends the beginning of a body. @returns a function that sends the rest, and the whole answer */
async function begin(address: string) {
  const before = arrived.length;
  const socket = createConnection(port, '127.0.0.1');
  socket.write(`POST /${address} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 4\r\n\r\nha`);
  const answer = text(socket);
  while (arrived.length === before) await once(server, 'request');
  return { answer, finish: () => socket.write('lf') };
}

it('where an address has too many, its oldest is given up', async () => {
  const first = await begin('one');
  const second = await begin('one');
  const other = await begin('two');
  const third = await begin('one');
  expect(await first.answer).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: \d/);
  for (const each of [second, other, third]) each.finish();
  for (const each of [second, other, third]) expect(await each.answer).toMatch(/^HTTP\/1\.1 200 [^]*half$/);
});

it('where there are too many over all, the oldest of the address that has most is given up', async () => {
  const victim = await begin('victim');
  const first = await begin('crowd');
  const second = await begin('crowd');
  const newcomer = await begin('newcomer');
  expect(await first.answer).toMatch(/^HTTP\/1\.1 503 /);
  for (const each of [victim, second, newcomer]) each.finish();
  for (const { answer } of [victim, second, newcomer]) expect(await answer).toMatch(/^HTTP\/1\.1 200 [^]*half$/);
});
