import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import express, { type Request, type Response } from 'express';
import { expect, it, onTestFinished, vi } from 'vitest';
import { traceRequests } from '../src/http/request.ts';
import { TenantSlots } from '../src/http/slots.ts';
import { createLogger } from '../src/process/log.ts';

const LONG = Buffer.alloc(64 * 1024 * 1024);

it('beside others an organization has two turns of 32; an answer that nobody reads holds no turn', async () => {
  const slots = new TenantSlots(32, 0);
  const working: Response[] = [];
  const app = express();
  app.use(
    traceRequests({
      name: 'test',
      log: createLogger('test', { level: 'silent' }),
      timeoutOf: () => 10_000,
      addressOf: () => '127.0.0.1',
    }),
  );
  app.use(async (request: Request, response: Response) => {
    await slots.take(request.path, response);
    working.push(response);
  });
  const server = createServer(app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => void sockets.add(socket));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    slots.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = (path: string) =>
    new Promise<IncomingMessage>((resolve) =>
      get({ host: '127.0.0.1', port, path, agent: false }, resolve).on('error', () => {}),
    );
  const works = (count: number) => vi.waitFor(() => expect(working).toHaveLength(count));

  void ask('/quiet');
  await works(1);
  const crowd = Array.from({ length: 6 }, () => ask('/crowd'));
  await works(3);
  await vi.waitFor(() => expect(sockets.size).toBe(7));
  void ask('/quiet');
  await works(4);
  expect(working.map(({ req }) => (req as Request).path)).toEqual(['/quiet', '/crowd', '/crowd', '/quiet']);

  working[1]!.end(LONG);
  await works(5);
  expect((await Promise.race(crowd)).readableFlowing).toBeNull();
  expect(working[1]!.writableFinished).toBe(false);
  // A client that leaves gives its turn back.
  working[2]!.destroy();
  await works(6);
});
