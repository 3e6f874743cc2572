import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RedisServer {
  /** `redis://127.0.0.1:port`. */
  url: string;
  port: number;
  pid: number;
  /** Ends it at once, as a crash would. Stopping twice is one stop. */
  stop(): Promise<void>;
}

/**
 * Starts a real Redis that keeps nothing on disk.
 * @param port to start one again where another one was; a free one by default
 * @param more settings of its own
 * @returns undefined, and says so, where the machine has no `redis-server` on its PATH; the tests that need it are then to be skipped
 * @throws Error with Redis' own words if it doesn't come up
 */
export async function startRedis(port?: number, more: Record<string, string> = {}): Promise<RedisServer | undefined> {
  const executable = findOnPath('redis-server');
  if (!executable) {
    process.stdout.write('NOT RUN: tests that need Redis, as there is no redis-server on the PATH\n');
    return undefined;
  }
  const listen = port ?? (await freePort());
  const directory = await mkdtemp(join(tmpdir(), 'crs-redis-'));
  const settings = { port: listen, bind: '127.0.0.1', save: '', appendonly: 'no', dir: directory, ...more };
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(executable, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    kill();
    await exited;
    process.off('exit', kill);
    await rm(directory, { recursive: true, force: true });
  };
  const said: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    if (!line.includes('Ready to accept connections')) continue;
    // Its later words are of no interest, but a full pipe would block it.
    child.stdout.resume();
    return { url: `redis://127.0.0.1:${listen}`, port: listen, pid: child.pid!, stop };
  }
  await stop();
  throw new Error(`redis-server did not come up:\n${said.join('\n')}`);
}

function findOnPath(name: string): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, name));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}
