import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
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

it('ends at once, even if a peer does not answer attempts to connect', { timeout: 30_000 }, async () => {
  const peer = await silentPort();
  let child;
  try {
    child = spawn(process.execPath, [fileURLToPath(new URL('./_client-process.ts', import.meta.url))], {
      env: { PATH: process.env['PATH'], CRS_OPS_LISTEN: '127.0.0.1:0', CRS_AUTH_ADDRESS: `127.0.0.1:${peer.port}` },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'exit');
    for await (const line of createInterface(child.stderr)) if (line.includes('"ready"')) break;
    child.stderr.resume();
    const asked = performance.now();
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(performance.now() - asked).toBeLessThan(15_000);
  } finally {
    child?.kill('SIGKILL');
    peer.close();
  }
});
