import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, it } from 'vitest';

/** A port that answers no attempt to connect, like the address of a dead machine: its backlog is full and its process is stopped. */
async function silentPort(): Promise<{ port: number; close: () => void }> {
  const program = `const server = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('fs').writeSync(1, server.address().port + '\\n'); process.kill(process.pid, 'SIGSTOP'); })`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const port = Number(line);
  const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await new Promise((resolve) => setTimeout(resolve, 500));
  return {
    port,
    close: () => {
      sockets.forEach((socket) => socket.destroy());
      child.kill('SIGKILL');
    },
  };
}

/** A process whose service asks the auth service at that port, and the lines of its log. */
function clientOf(port: number) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./_client-process.ts', import.meta.url))], {
    env: { PATH: process.env['PATH'], CRS_OPS_LISTEN: '127.0.0.1:0', CRS_AUTH_ADDRESS: `127.0.0.1:${port}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { child, lines: createInterface(child.stderr) };
}

it('ends at once, even if a peer does not answer attempts to connect', { timeout: 30_000 }, async () => {
  const peer = await silentPort();
  const { child, lines } = clientOf(peer.port);
  try {
    const exited = once(child, 'exit');
    const log: string[] = [];
    for await (const line of lines) {
      log.push(line);
      if (line.includes('"ready"')) break;
    }
    child.stderr.resume();
    // It is ready all the same.
    expect(log.join('\n')).toContain(`"away":["dns:///127.0.0.1:${peer.port}"]`);
    const asked = performance.now();
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(performance.now() - asked).toBeLessThan(15_000);
  } finally {
    child.kill('SIGKILL');
    peer.close();
  }
});

it('is ready once it is connected to the services that it asks', { timeout: 30_000 }, async () => {
  const listen = async (address: string) => {
    const server = new Server();
    return { server, port: await promisify(server.bindAsync.bind(server))(address, ServerCredentials.createInsecure()) };
  };
  const { server: earlier, port } = await listen('127.0.0.1:0');
  earlier.forceShutdown();
  const { child, lines } = clientOf(port);
  try {
    const ready = (async () => {
      for await (const line of lines) if (line.includes('"ready"')) return 'ready';
      return 'ended';
    })();
    expect(await Promise.race([ready, sleep(1_000, 'not ready')])).toBe('not ready');
    const { server } = await listen(`127.0.0.1:${port}`);
    expect(await ready).toBe('ready');
    server.forceShutdown();
  } finally {
    child.kill('SIGKILL');
  }
});
