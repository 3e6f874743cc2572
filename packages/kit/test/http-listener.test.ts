import { Agent, createServer, request, type RequestListener } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { listen } from '../src/http/listener.ts';

const sockets: Socket[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  agent.destroy();
});

const start = (handle: RequestListener, drainMs = 0) =>
  listen(createServer(handle), { address: '127.0.0.1:0', drainMs, finishMs: 5_000 });

function ask(address: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(`http://${address}`, { agent }, (response) => {
      response.resume().once('end', () => resolve(response.headers.connection));
    });
    sent.on('error', reject).end();
  });
}

async function open(address: string): Promise<Socket> {
  const socket = createConnection(Number(address.split(':')[1]), '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

it('after stop(), the listener finishes requests in progress with Connection: close, and accepts no connections', async () => {
  const released = Promise.withResolvers<void>();
  let begun = 0;
  const { address, stop } = await start((_request, response) => {
    if (++begun === 1) response.end('done');
    else void released.promise.then(() => response.end('done'));
  });
  expect(await ask(address)).toBe('keep-alive');
  const inProgress = ask(address);
  await expect.poll(() => begun).toBe(2);
  const stopped = stop();
  const connect = async () => void (await open(address)).destroy();
  await expect.poll(() => connect().catch((error) => error.code)).toBe('ECONNREFUSED');
  released.resolve();
  expect(await inProgress).toBe('close');
  await stopped;
  await expect(ask(address)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('after stop(), the listener keeps serving during the drain period, with Connection: close', async () => {
  const { address, stop } = await start((_request, response) => void response.end('done'), 500);
  expect(await ask(address)).toBe('keep-alive');
  const started = performance.now();
  const stopped = stop();
  expect(await ask(address)).toBe('close');
  expect(await ask(address)).toBe('close');
  await stopped;
  expect(performance.now() - started).toBeGreaterThan(490);
});

it('after the drain period, the listener keeps idle connections open for a while, because their clients may be sending', async () => {
  const drainMs = 150;
  const { address, stop } = await start((_request, response) => void response.end('done'), drainMs);
  expect(await ask(address)).toBe('keep-alive');
  const began = performance.now();
  const stopped = stop();
  await expect.poll(() => performance.now() - began, { interval: 10 }).toBeGreaterThan(drainMs);
  expect(await ask(address)).toBe('close');
  await stopped;
  // Idle connections are kept for three more drain periods, but this one ended with its response.
  expect(performance.now() - began).toBeLessThan(4 * drainMs);
});

it('stop() does not wait for idle connections if the drain period is 0', async () => {
  const { address, stop } = await start((_request, response) => void response.end('done'));
  const silent = await open(address);
  await ask(address);
  const started = performance.now();
  await stop();
  expect(performance.now() - started).toBeLessThan(4_500);
  if (!silent.destroyed) await once(silent, 'close');
});
