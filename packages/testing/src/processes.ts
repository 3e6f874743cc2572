import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { derivePassword, roleOf } from '@crs/kit/migrate';

const SERVICES = fileURLToPath(new URL('../../../services/', import.meta.url));

/** The services that run as processes, in the order of their start. Any other order works, too. */
export const PROCESS_NAMES = ['rate-limit', 'auth', 'calls', 'projects', 'entities', 'api-gateway', 'tool-gateway'] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number];

/**
 * As a service is started in production. It has about one core, with which the threads of a parallel garbage collector would take
 * turns, and a young generation in which the batches of an import come and go: otherwise half of an import is collecting garbage.
 */
const NODE_FLAGS = ['--single-threaded-gc', '--min-semi-space-size=32', '--max-semi-space-size=32'];

export interface ProcessesConfig {
  /** A database with every schema, as superuser. */
  databaseUrl: string;
  /** That the passwords of the services' roles are derived from. */
  secret: string;
  /** Absent: the rate-limit process counts in its memory. */
  redisUrl?: string | undefined;
  /** For every process, besides what it needs. */
  environment?: Record<string, string>;
  /** Options of Node for a process. */
  execArgv?: (service: ProcessName) => string[];
}

/** The system as it runs in production: one process a service. */
export interface Processes {
  /** Origin of the REST API. */
  api: string;
  /** `host:port` of the tools. */
  tools: string;
  /** Admin listeners, as `crs` wants them. */
  admin: Record<'auth' | 'projects' | 'calls' | 'entities', string>;
  /** Process ids of what runs. */
  pids: Map<string, number>;
  /** Starts a process again, on the same ports, unless it runs; resolves when it is ready. */
  start(service: ProcessName): Promise<void>;
  /** Ends a process at once, as a crash would. */
  kill(service: ProcessName): Promise<void>;
  /** Stops all, each as it is stopped in production. */
  stop(): Promise<void>;
}

export async function startProcesses(config: ProcessesConfig): Promise<Processes> {
  const ports = await freePorts(12);
  const at = (index: number) => `127.0.0.1:${ports[index]}`;
  const databaseOf = (service: string) => {
    const url = new URL(config.databaseUrl);
    url.username = roleOf(service);
    url.password = derivePassword(config.secret, service);
    return { DATABASE_URL: url.href };
  };
  const listeners = (first: number) => ({ CRS_LISTEN: at(first), CRS_ADMIN_LISTEN: at(first + 1) });
  const records = (service: string, first: number) => ({ ...listeners(first), ...databaseOf(service), CRS_AUTH_ADDRESS: at(1) });
  const settings: Record<ProcessName, Record<string, string>> = {
    'rate-limit': { CRS_LISTEN: at(0), ...(config.redisUrl !== undefined && { REDIS_URL: config.redisUrl }) },
    auth: { ...listeners(1), CRS_HTTP_LISTEN: at(11), ...databaseOf('auth'), CRS_SECRET: config.secret },
    calls: records('calls', 3),
    projects: records('projects', 5),
    entities: records('entities', 7),
    'api-gateway': {
      CRS_LISTEN: at(9),
      CRS_API_URL: `http://${at(9)}`,
      CRS_AUTH_ADDRESS: at(1),
      CRS_CALLS_ADDRESS: at(3),
      CRS_PROJECTS_ADDRESS: at(5),
      CRS_RATE_LIMIT_ADDRESS: at(0),
    },
    // Auth keeps its default, the issuer of tokens, so that two systems on one database take each other's.
    'tool-gateway': {
      CRS_LISTEN: at(10),
      CRS_TOOLS_URL: `http://${at(10)}`,
      CRS_SECRET: config.secret,
      CRS_AUTH_ADDRESS: at(1),
      CRS_AUTH_HTTP_ADDRESS: at(11),
      CRS_CALLS_ADDRESS: at(3),
      CRS_PROJECTS_ADDRESS: at(5),
      CRS_ENTITIES_ADDRESS: at(7),
      CRS_RATE_LIMIT_ADDRESS: at(0),
    },
  };
  const running = new Map<ProcessName, ChildProcess>();
  const pids = new Map<string, number>();
  // Whoever forgets to stop them, or can't, leaves none behind.
  const killAll = () => running.forEach((child) => child.kill('SIGKILL'));
  process.once('exit', killAll);

  async function start(service: ProcessName): Promise<void> {
    if (running.has(service)) return;
    const options = config.execArgv?.(service) ?? [];
    const child = spawn(process.execPath, [...NODE_FLAGS, ...options, join(SERVICES, service, 'src/main.ts')], {
      env: { PATH: process.env['PATH'], CRS_OPS_LISTEN: '127.0.0.1:0', ...config.environment, ...settings[service] },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running.set(service, child);
    pids.set(service, child.pid!);
    const ready = Promise.withResolvers<void>();
    let last: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      last = [...last.slice(-9), line];
      if (line.includes('"ready"')) ready.resolve();
    });
    child.once('exit', (code, signal) => {
      running.delete(service);
      pids.delete(service);
      ready.reject(new Error(`${service} ended with ${signal ?? code}:\n${last.join('\n')}`));
    });
    await ready.promise;
  }
  async function end(service: ProcessName, signal: NodeJS.Signals): Promise<void> {
    const child = running.get(service);
    if (!child) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
  const stop = async () => {
    for (const service of PROCESS_NAMES.toReversed()) await end(service, 'SIGTERM');
    process.off('exit', killAll);
  };
  try {
    await Promise.all(PROCESS_NAMES.map(start));
  } catch (error) {
    killAll();
    throw error;
  }
  return {
    api: `http://${at(9)}`,
    tools: at(10),
    admin: { auth: at(2), calls: at(4), projects: at(6), entities: at(8) },
    pids,
    start,
    kill: (service) => end(service, 'SIGKILL'),
    stop,
  };
}

/** Below the ports that systems hand out by themselves, or an outgoing connection could sit on the port of a process that is away. */
const FIRST_PORT = 10_240;
const LAST_PORT = 32_767;

/** Ports of 127.0.0.1 that nobody listens on at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) ports.add(port);
  }
  return [...ports];
}
