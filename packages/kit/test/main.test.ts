import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { bindGrpc } from '../src/process/bind.ts';

/** Returns a port that never completes a connection, like the address of a dead machine: its backlog is full and its process is stopped. */
async function silentPort(): Promise<number> {
  const program = `const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('fs').writeSync(1, server.address().port + '\\n'); process.kill(process.pid, 'SIGSTOP'); })`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const port = Number(line);
  const isTaken = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return Promise.race([once(socket, 'connect').then(() => true), sleep(100, false)]);
  };
  while (await isTaken());
  return port;
}

/** A module to preload into a process, so that its clock and its timers run ten times as fast. */
const FAST = `
  const Real = Date, { setTimeout } = globalThis, began = Real.now();
  const now = () => began + (Real.now() - began) * 10;
  globalThis.Date = class extends Real {
    static now = now;
    constructor(...given) { super(...(given.length > 0 ? given : [now()])); }
  };
  globalThis.setTimeout = (work, ms = 0, ...given) => setTimeout(work, ms / 10, ...given);`;

/** Starts a process whose service calls the auth service at that port. */
const clientOf = (port: number, ...options: string[]) => startClient(port, options, {});

function startClient(port: number, options: string[], settings: Record<string, string>) {
  const child = spawn(process.execPath, [...options, fileURLToPath(new URL('./_client-process.ts', import.meta.url))], {
    env: { PATH: process.env['PATH'], CRS_OPS_LISTEN: '127.0.0.1:0', CRS_AUTH_ADDRESS: `127.0.0.1:${port}`, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const log: string[] = [];
  createInterface(child.stderr).on('line', (line) => log.push(line));
  return { child, log };
}

const isReady = (log: string[]) => log.some((line) => line.includes('"ready"'));

it.each([
  ['CRS_TLS_DIR', '/etc/crs/tls'],
  ['CRS_TLS_PEER_DOMAIN', 'crs.tests.call-research'],
])('a process with %s alone does not start: a certificate of any client would be enough to call it', async (name, value) => {
  const { child, log } = startClient(9, [], { [name]: value });
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(log.join('\n')).toContain('CRS_TLS_DIR and CRS_TLS_PEER_DOMAIN: set both or neither');
});

it('a program ends at once on SIGTERM, even if it cannot connect to a service', async () => {
  const port = await silentPort();
  const { child, log } = clientOf(port, '--import', `data:text/javascript,${encodeURIComponent(FAST)}`);
  const exited = once(child, 'exit');
  // It waits 5 s (of its fast clock) for the connection, and then becomes ready without it.
  await expect.poll(() => isReady(log), { timeout: 20_000 }).toBe(true);
  expect(log.join('\n')).toContain(`"away":["dns:///127.0.0.1:${port}"]`);
  const signalledAt = performance.now();
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  expect(performance.now() - signalledAt).toBeLessThan(15_000);
});

it('a program becomes ready once it is connected to the services that it calls', async () => {
  let attempts = 0;
  const refusing = createServer((socket: Socket) => {
    attempts++;
    socket.destroy();
  });
  await once(refusing.listen(0, '127.0.0.1'), 'listening');
  const { port } = refusing.address() as AddressInfo;
  const { log } = clientOf(port);
  // Repeated attempts show that the process is not ready: a ready process would not reconnect without a call to send.
  await expect.poll(() => attempts, { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
  expect(isReady(log)).toBe(false);
  await new Promise((resolve) => refusing.close(resolve));
  const server = new Server();
  onTestFinished(() => server.forceShutdown());
  await bindGrpc(server, `127.0.0.1:${port}`, ServerCredentials.createInsecure());
  await expect.poll(() => isReady(log)).toBe(true);
});
