import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createLogger } from '@crs/kit/log';
import { derivePassword, roleOf } from '@crs/kit/migrate';
import { startPostgres } from '@crs/local/postgres';
import { prepareDatabase } from '@crs/local/stack';
import { startRedis } from '@crs/testing/redis';

const SECRET = 'a-secret-for-benchmarks-that-is-long-enough-01234';
export const OPERATOR_CREDENTIAL = 'cro_the-operator-of-the-benchmark';
const SERVICES = fileURLToPath(new URL('../services/', import.meta.url));

/** The system as it runs in production: one process a service, PostgreSQL, Redis. */
export interface System {
  databaseUrl: string;
  api: string;
  /** Admin listeners, as `crs` wants them. */
  admin: Record<'auth' | 'projects' | 'calls' | 'entities', string>;
  /** Process ids by what they are, for CPU accounts. */
  pids: Map<string, number>;
  stop(): Promise<void>;
}

export async function startSystem(environment: Record<string, string> = {}): Promise<System> {
  const dataDir = await mkdtemp(join(tmpdir(), 'crs-bench-'));
  await chmod(dataDir, 0o711);
  const log = createLogger('bench', { level: 'warn' });
  const postgres = await startPostgres({ dataDir, locale: 'C', fsync: false, log });
  const redis = await startRedis();
  if (!redis) process.stderr.write('no redis-server on this machine: counters are kept in the rate-limit process\n');
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const ports = await freePorts(10);
  const at = (index: number) => `127.0.0.1:${ports[index]}`;
  const databaseUrl = (service: string) => {
    const url = new URL(postgres.url);
    url.username = roleOf(service);
    url.password = derivePassword(SECRET, service);
    return url.href;
  };
  const children: ChildProcess[] = [];
  const pids = new Map<string, number>([['postgres', postgres.pid]]);
  if (redis) pids.set('redis', redis.pid);
  async function start(service: string, settings: Record<string, string>): Promise<void> {
    const child = spawn(process.execPath, [...execArgv(service), join(SERVICES, service, 'src/main.ts')], {
      env: { PATH: process.env['PATH'], CRS_OPS_LISTEN: '127.0.0.1:0', ...environment, ...settings },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    children.push(child);
    pids.set(service, child.pid!);
    const ready = Promise.withResolvers<void>();
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.includes('"ready"')) ready.resolve();
      if (/"level":"(error|fatal)"/.test(line)) process.stderr.write(`${line}\n`);
    });
    child.once('exit', (code) => ready.reject(new Error(`${service} ended with ${code}`)));
    await ready.promise;
  }
  await start('rate-limit', { CRS_LISTEN: at(0), ...(redis && { REDIS_URL: redis.url }) });
  await start('auth', { CRS_LISTEN: at(1), CRS_ADMIN_LISTEN: at(2), DATABASE_URL: databaseUrl('auth'), CRS_SECRET: SECRET });
  await start('calls', {
    CRS_LISTEN: at(3),
    CRS_ADMIN_LISTEN: at(4),
    DATABASE_URL: databaseUrl('calls'),
    CRS_AUTH_ADDRESS: at(1),
  });
  for (const [service, index] of [['projects', 6], ['entities', 8]] as const) {
    const listeners = { CRS_LISTEN: at(index), CRS_ADMIN_LISTEN: at(index + 1) };
    await start(service, { ...listeners, DATABASE_URL: databaseUrl(service), CRS_AUTH_ADDRESS: at(1) });
  }
  await start('api-gateway', {
    CRS_LISTEN: at(5),
    CRS_AUTH_ADDRESS: at(1),
    CRS_CALLS_ADDRESS: at(3),
    CRS_PROJECTS_ADDRESS: at(6),
    CRS_RATE_LIMIT_ADDRESS: at(0),
  });
  return {
    databaseUrl: postgres.url,
    api: `http://${at(5)}`,
    admin: { auth: at(2), calls: at(4), projects: at(7), entities: at(9) },
    pids,
    stop: async () => {
      for (const child of children) {
        child.kill('SIGTERM');
        await new Promise((resolve) => child.once('close', resolve));
      }
      await redis?.stop();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** `BENCH_PROFILE=<service>` writes a CPU profile of that service into the working directory. */
function execArgv(service: string): string[] {
  return process.env['BENCH_PROFILE'] === service ? ['--cpu-prof', `--cpu-prof-name=${service}.cpuprofile`] : [];
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

const TICKS_PER_SECOND = 100;

/** CPU seconds that each process has used so far, its children (PostgreSQL's backends) included. Linux only. */
export async function cpuSeconds(pids: Map<string, number>): Promise<Map<string, number>> {
  const parents = new Map<number, number[]>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readStat(Number(entry));
    if (stat) parents.set(stat.parent, [...(parents.get(stat.parent) ?? []), Number(entry)]);
  }
  const used = new Map<string, number>();
  for (const [name, pid] of pids) {
    const own = await readStat(pid);
    const children = await Promise.all((parents.get(pid) ?? []).map(readStat));
    used.set(
      name,
      [own, ...children].reduce((sum, stat) => sum + (stat?.cpu ?? 0), 0),
    );
  }
  return used;
}

/** Own time of a process and of its children that have ended. */
async function readStat(pid: number): Promise<{ parent: number; cpu: number } | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { parent: Number(fields[1]), cpu: ticks / TICKS_PER_SECOND };
  } catch {
    return undefined;
  }
}
