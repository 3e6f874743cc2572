import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '@crs/local/postgres';
import { prepareDatabase } from '@crs/local/stack';
import { startProcesses, type Processes } from '@crs/testing/processes';
import { startRedis } from '@crs/testing/redis';

const SECRET = 'a-secret-for-benchmarks-that-is-long-enough-01234';
export const OPERATOR_CREDENTIAL = 'cro_the-operator-of-the-benchmark';

/** The system as it runs in production: one process a service, PostgreSQL, Redis. */
export interface System extends Pick<Processes, 'api' | 'tools' | 'admin'> {
  databaseUrl: string;
  /** Process ids by name: the services, `postgres` and `redis`. */
  pids: Map<string, number>;
  stop(): Promise<void>;
}

export async function startSystem(environment: Record<string, string> = {}): Promise<System> {
  const dataDir = await mkdtemp(join(tmpdir(), 'crs-bench-'));
  await chmod(dataDir, 0o711);
  const log = createLogger('bench', { level: 'warn' });
  const postgres = await startPostgres({ dataDir, locale: 'C', fsync: false, log });
  const redis = await startRedis();
  if (!redis)
    process.stderr.write('there is no redis-server on the PATH: the rate-limit process keeps the counters in its memory\n');
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const processes = await startProcesses({
    databaseUrl: postgres.url,
    secret: SECRET,
    redisUrl: redis?.url,
    environment,
    execArgv,
  });
  return {
    databaseUrl: postgres.url,
    api: processes.api,
    tools: processes.tools,
    admin: processes.admin,
    pids: new Map([['postgres', postgres.pid], ...(redis ? ([['redis', redis.pid]] as const) : []), ...processes.pids]),
    stop: async () => {
      await processes.stop();
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

const TICKS_PER_SECOND = 100;

/** CPU seconds of each process so far, including its children, such as PostgreSQL's backends. Works on Linux only. */
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

/** The parent of a process, and its CPU seconds including ended children; undefined where the process has ended. */
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
