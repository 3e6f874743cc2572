/** A Redis server for tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts } from './ports.ts';

export interface RedisServer {
  /** `redis://127.0.0.1:port`. */
  url: string;
  port: number;
  pid: number;
  /** Kills the server by SIGKILL, like a crash. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts Redis without persistence.
 * @param port to start a server again at its address; a free port by default
 * @param more further settings, by name
 * @returns undefined if `redis-server` is not on the PATH. Prints that on standard output; tests that need Redis are then skipped
 * @throws Error with the output of Redis if it doesn't start
 */
export async function startRedis(port?: number, more: Record<string, string> = {}): Promise<RedisServer | undefined> {
  if (!isOnPath('redis-server')) {
    process.stdout.write('NOT RUN: tests that need Redis, because redis-server is not on the PATH\n');
    return undefined;
  }
  const listen = port ?? (await freePorts(1))[0]!;
  const directory = await mkdtemp(join(tmpdir(), 'crs-redis-'));
  const settings = { port: listen, bind: '127.0.0.1', save: '', appendonly: 'no', dir: directory, ...more };
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return launch(listen, directory, options, 'Ready to accept connections');
}

/** Starts a Sentinel that watches a primary. */
export async function startSentinel(
  { name, port, password }: { name: string; port: number; password: string },
  more: Record<string, string> = {},
): Promise<RedisServer> {
  const [listen] = (await freePorts(1)) as [number];
  const directory = await mkdtemp(join(tmpdir(), 'crs-sentinel-'));
  const file = join(directory, 'sentinel.conf');
  const settings = Object.entries({ port: String(listen), bind: '127.0.0.1', ...more }).map(([key, value]) => `${key} ${value}`);
  const watched = [`sentinel monitor ${name} 127.0.0.1 ${port} 1`, `sentinel auth-pass ${name} ${password}`];
  await writeFile(file, [...settings, ...watched, ''].join('\n'));
  return launch(listen, directory, [file, '--sentinel'], 'Sentinel ID is');
}

async function launch(listen: number, directory: string, options: string[], isReady: string): Promise<RedisServer> {
  const child = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] });
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
    if (!line.includes(isReady)) continue;
    // Nobody reads the later output, but a full pipe would block Redis.
    child.stdout.resume();
    return { url: `redis://127.0.0.1:${listen}`, port: listen, pid: child.pid!, stop };
  }
  await stop();
  throw new Error(`redis-server did not come up:\n${said.join('\n')}`);
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, program)));
}
