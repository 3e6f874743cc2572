/** The whole system as separate processes, as in production, for tests and trials that kill, pause or measure them. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { derivePassword, serviceUrl } from '@crs/kit/data/migration';
import { webhooksCredential } from '@crs/local/stack';
import { INHERITED } from './inherited.ts';
import { freePorts } from './ports.ts';
import { programOf } from './programs.ts';

const NAMES = new URL('./names.ts', import.meta.url).href;

/** The services that run as processes by default, in the order of their start, although any order works. */
export const PROCESS_NAMES = ['rate-limit', 'auth', 'calls', 'projects', 'entities', 'api-gateway', 'tool-gateway'] as const;
export type ProcessName = (typeof PROCESS_NAMES)[number] | 'webhooks';

/**
 * The flags of production. A service has about one core, on which a parallel garbage collector gains nothing. The large young generation holds the
 * batches of an import; with a small one, garbage collection takes half of an import's time. Buffers count as part of the heap: otherwise V8 would mark
 * the whole heap after each 64 MiB of them, which took half of a gateway's time for long responses.
 */
const NODE_FLAGS = [
  '--expose-gc',
  '--single-threaded-gc',
  '--min-semi-space-size=32',
  '--max-semi-space-size=32',
  '--external-memory-accounted-in-global-limit',
];

/** Gives clients that have just resolved a replica's address time to connect. In a cluster, the preStop sleep of the pod does this. */
const PRE_STOP_MS = 500;

/** The issuer is independent of where the gateway listens, so that two systems on one database accept each other's tokens. */
const ISSUER = 'http://127.0.0.1:8081';

export interface ProcessesConfig {
  /** URL of a database with every schema, as superuser. */
  databaseUrl: string;
  /** Used as CRS_SECRET, and to derive the passwords of the services' database roles. */
  secret: string;
  /** Absent: the rate-limit process counts in memory. */
  redisUrl?: string | undefined;
  /** The services that run; by default all but webhooks. */
  services?: readonly ProcessName[] | undefined;
  /** Processes of each service; one by default. Replicas listen on 127.0.0.1, 127.0.0.2 and so on, which Linux has without configuration. */
  replicas?: Partial<Record<ProcessName, number>>;
  /** Returns the address by which other processes reach a service or the database, such as that of a relay. Default: the real address. */
  via?: (target: ProcessName | 'postgres', address: string) => Promise<string>;
  /** Added to the environment of every process. */
  environment?: Record<string, string>;
  /** Added to the environment of one service's processes. Changes take effect at their next start. */
  environments?: Partial<Record<ProcessName, Record<string, string>>>;
  /** Folder for the processes' logs, `<service>.log`. Absent: logs aren't kept. */
  logs?: string | undefined;
  /** Options of Node for a process. */
  execArgv?: (service: ProcessName) => string[];
}

/** The system as it runs in production: one or several processes for each service. Replicas are numbered from 1; the default replica is 1. */
export interface Processes {
  /** Origin of the REST API. */
  api: string;
  /** Origins of the REST API, by replica. */
  apis: string[];
  /** `host:port` of the tools. */
  tools: string;
  /** `host:port` of the tools, by replica. */
  toolAddresses: string[];
  /** `host:port` of the first replicas' admin listeners. */
  admin: Record<'auth' | 'projects' | 'calls' | 'entities', string> & { webhooks?: string };
  /** Ids of the running processes by name (`calls`); from the second replica on, the name has the number (`calls/2`). */
  pids: Map<string, number>;
  /** The file that {@link NAMES} reads: names of services with replicas, such as `auth.crs.test`. */
  names: string;
  /** `host:port` of health and metrics. */
  ops(service: ProcessName, replica?: number): string;
  /** Starts a process on its ports, unless it runs. Resolves when it is ready. */
  start(service: ProcessName, replica?: number): Promise<void>;
  /** Ends a process by SIGKILL, as a crash would. */
  kill(service: ProcessName, replica?: number): Promise<void>;
  /**
   * Removes a process's address from its service's name, as an orchestrator does, and ends it by SIGTERM. If the service has
   * replicas, the signal follows after 0.5 s.
   * @returns its exit code
   */
  terminate(service: ProcessName, replica?: number): Promise<number | null>;
  /** Stops a process by SIGSTOP, like a machine that hangs. The kernel still accepts connections for it. */
  pause(service: ProcessName, replica?: number): void;
  resume(service: ProcessName, replica?: number): void;
  /** Ends all processes by SIGTERM. */
  stop: () => Promise<void>;
}

export async function startProcesses(config: ProcessesConfig): Promise<Processes> {
  const ports = await freePorts(14);
  const replicasOf = (service: ProcessName) => config.replicas?.[service] ?? 1;
  const hostOf = (replica: number) => `127.0.0.${replica}`;
  const nameOf = (service: ProcessName) => (replicasOf(service) === 1 ? hostOf(1) : `${service}.crs.test`);
  const keyOf = (service: ProcessName, replica: number) => (replica === 1 ? service : `${service}/${replica}`);
  const way = config.via ?? (async (_target, address) => address);
  const addressOf = (service: ProcessName, index: number) => way(service, `${nameOf(service)}:${ports[index]}`);

  const database = new URL(config.databaseUrl);
  database.host = await way('postgres', database.host);
  const databaseOf = (service: string) => ({
    DATABASE_URL: serviceUrl(database.href, service, derivePassword(config.secret, service)),
  });
  const rateLimit = { CRS_RATE_LIMIT_ADDRESS: await addressOf('rate-limit', 0) };
  const auth = { CRS_AUTH_ADDRESS: await addressOf('auth', 1) };
  const calls = { CRS_CALLS_ADDRESS: await addressOf('calls', 3) };
  const projects = { CRS_PROJECTS_ADDRESS: await addressOf('projects', 5) };
  const entities = { CRS_ENTITIES_ADDRESS: await addressOf('entities', 7) };
  const authHttp = { CRS_AUTH_HTTP_ADDRESS: await addressOf('auth', 11) };
  const secret = { CRS_SECRET: config.secret };
  const at = (index: number, replica: number) => `${hostOf(replica)}:${ports[index]}`;
  // Long enough for the tests' clients, which poll continuously, to notice that the gateway isn't ready any more.
  const drainPeriod = { CRS_LAME_DUCK_MS: '300' };
  const settings: Record<ProcessName, (replica: number) => Record<string, string>> = {
    'rate-limit': (replica) => ({
      CRS_LISTEN: at(0, replica),
      ...(config.redisUrl !== undefined && { REDIS_URL: config.redisUrl }),
    }),
    auth: (replica) => ({
      ...listeners(1, replica),
      CRS_HTTP_LISTEN: at(11, replica),
      CRS_TOOLS_URL: ISSUER,
      ...databaseOf('auth'),
      ...secret,
    }),
    calls: (replica) => ({ ...listeners(3, replica), ...databaseOf('calls'), ...auth }),
    projects: (replica) => ({ ...listeners(5, replica), ...databaseOf('projects'), ...auth }),
    entities: (replica) => ({ ...listeners(7, replica), ...databaseOf('entities'), ...auth }),
    webhooks: (replica) => ({
      CRS_ADMIN_LISTEN: at(13, replica),
      CRS_PROGRAM_CREDENTIAL: webhooksCredential(config.secret),
      ...databaseOf('webhooks'),
      ...secret,
      ...auth,
      ...calls,
    }),
    'api-gateway': (replica) => ({
      CRS_LISTEN: at(9, replica),
      CRS_API_URL: `http://${at(9, 1)}`,
      ...drainPeriod,
      ...auth,
      ...calls,
      ...projects,
      ...entities,
      ...rateLimit,
    }),
    'tool-gateway': (replica) => ({
      CRS_LISTEN: at(10, replica),
      CRS_TOOLS_URL: `http://${at(10, replica)}`,
      ...drainPeriod,
      ...secret,
      ...auth,
      ...authHttp,
      ...calls,
      ...projects,
      ...entities,
      ...rateLimit,
    }),
  };
  function listeners(first: number, replica: number): Record<string, string> {
    return { CRS_LISTEN: at(first, replica), CRS_ADMIN_LISTEN: at(first + 1, replica) };
  }
  /** The ops port of each service. All replicas use it, each on its own address. */
  const opsPorts = await freePorts(PROCESS_NAMES.length + 1);
  const opsOf = new Map([...PROCESS_NAMES, 'webhooks' as const].map((name, index) => [name, opsPorts[index]]));
  const ops = (service: ProcessName, replica = 1) => `${hostOf(replica)}:${opsOf.get(service)}`;

  const names = new Names();
  const running = new Map<string, ChildProcess>();
  const pids = new Map<string, number>();
  // Leaves no process running if a test doesn't stop it.
  const killAll = () => running.forEach((child) => child.kill('SIGKILL'));
  process.once('exit', killAll);

  async function start(service: ProcessName, replica = 1): Promise<void> {
    const program = programOf(service);
    const key = keyOf(service, replica);
    if (running.has(key)) return;
    const options = [...NODE_FLAGS, ...(config.replicas ? ['--import', NAMES] : []), ...(config.execArgv?.(service) ?? [])];
    const child = spawn(process.execPath, [...options, program], {
      env: {
        ...INHERITED,
        CRS_OPS_LISTEN: ops(service, replica),
        CRS_TEST_NAMES: names.file,
        ...settings[service](replica),
        ...config.environment,
        ...config.environments?.[service],
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running.set(key, child);
    pids.set(key, child.pid!);
    const ready = Promise.withResolvers<void>();
    if (config.logs !== undefined) child.stderr.pipe(createWriteStream(join(config.logs, `${service}.log`), { flags: 'a' }));
    let last: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => {
      last = [...last.slice(-9), line];
      if (line.includes('"ready"')) ready.resolve();
    });
    child.once('exit', (code, signal) => {
      running.delete(key);
      pids.delete(key);
      names.remove(nameOf(service), hostOf(replica));
      ready.reject(new Error(`${key} ended with ${signal ?? code}:\n${last.join('\n')}`));
    });
    await ready.promise;
    names.add(nameOf(service), hostOf(replica));
  }
  async function end(service: ProcessName, replica: number, signal: NodeJS.Signals): Promise<number | null> {
    const child = running.get(keyOf(service, replica));
    if (!child) return null;
    const exited = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    const [code] = await exited;
    return code;
  }
  const terminate = async (service: ProcessName, replica = 1) => {
    names.remove(nameOf(service), hostOf(replica));
    if (replicasOf(service) > 1) await sleep(PRE_STOP_MS);
    return end(service, replica, 'SIGTERM');
  };
  const services: readonly ProcessName[] = config.services ?? PROCESS_NAMES;
  const instances = services.flatMap((service) =>
    Array.from({ length: replicasOf(service) }, (_, index) => [service, index + 1] as const),
  );
  const stop = async () => {
    await Promise.all(instances.map(([service, replica]) => end(service, replica, 'SIGTERM')));
    names.close();
    process.off('exit', killAll);
  };
  try {
    await Promise.all(instances.map(([service, replica]) => start(service, replica)));
  } catch (error) {
    killAll();
    throw error;
  }
  const listening = (service: ProcessName, index: number) =>
    Array.from({ length: replicasOf(service) }, (_, replica) => at(index, replica + 1));
  return {
    api: `http://${at(9, 1)}`,
    apis: listening('api-gateway', 9).map((address) => `http://${address}`),
    tools: at(10, 1),
    toolAddresses: listening('tool-gateway', 10),
    admin: {
      ...{ auth: at(2, 1), calls: at(4, 1), projects: at(6, 1), entities: at(8, 1) },
      ...(services.includes('webhooks') && { webhooks: at(13, 1) }),
    },
    pids,
    names: names.file,
    ops,
    start,
    kill: async (service, replica = 1) => void (await end(service, replica, 'SIGKILL')),
    terminate,
    pause: (service, replica = 1) => void running.get(keyOf(service, replica))?.kill('SIGSTOP'),
    resume: (service, replica = 1) => void running.get(keyOf(service, replica))?.kill('SIGCONT'),
    stop,
  };
}

/** Writes the file that {@link NAMES} reads: the addresses of the ready replicas, by name. */
class Names {
  readonly #directory = mkdtempSync(join(tmpdir(), 'crs-names-'));
  readonly #addresses = new Map<string, Set<string>>();
  readonly file = join(this.#directory, 'names.json');

  constructor() {
    this.#write();
  }

  add(name: string, address: string): void {
    this.#addresses.set(name, (this.#addresses.get(name) ?? new Set()).add(address));
    this.#write();
  }

  remove(name: string, address: string): void {
    if (this.#addresses.get(name)?.delete(address)) this.#write();
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Replaces the file atomically, so that readers never see half of it. */
  #write(): void {
    const names = Object.fromEntries([...this.#addresses].map(([name, addresses]) => [name, [...addresses]]));
    writeFileSync(`${this.file}.new`, JSON.stringify(names));
    renameSync(`${this.file}.new`, this.file);
  }
}
