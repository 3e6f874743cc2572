import { prepareDatabase } from '@crs/local/stack';
import { startTestPostgres, type TestPostgres } from '@crs/testing/postgres';
import { childrenOf, statOf } from '@crs/testing/proc';
import { startProcesses, type Processes, type ProcessesConfig } from '@crs/testing/processes';
import { startRedis } from '@crs/testing/redis';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';

/** The system as it runs in production: one process a service, PostgreSQL, Redis. */
export interface System extends Pick<Processes, 'api' | 'apis' | 'tools' | 'admin' | 'ops'> {
  databaseUrl: string;
  /** Process ids by name: the services, `postgres` and `redis`. */
  pids: Map<string, number>;
  stop(): Promise<void>;
}

/**
 * @param postgres the server; by default an empty one
 * @param replicas processes of each service; one by default
 */
export async function startSystem(
  environment: Record<string, string> = {},
  postgres?: Pick<TestPostgres, 'url' | 'pid' | 'stop'>,
  replicas?: ProcessesConfig['replicas'],
): Promise<System> {
  postgres ??= await startTestPostgres();
  const redis = await startRedis();
  if (!redis)
    process.stderr.write('there is no redis-server on the PATH: the rate-limit process keeps the counters in its memory\n');
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const processes = await startProcesses({
    databaseUrl: postgres.url,
    secret: SECRET,
    redisUrl: redis?.url,
    environment,
    ...(replicas && { replicas }),
    execArgv,
  });
  return {
    databaseUrl: postgres.url,
    api: processes.api,
    apis: processes.apis,
    tools: processes.tools,
    admin: processes.admin,
    ops: (service) => processes.ops(service),
    pids: new Map([['postgres', postgres.pid], ...(redis ? ([['redis', redis.pid]] as const) : []), ...processes.pids]),
    stop: async () => {
      await processes.stop();
      await redis?.stop();
      await postgres.stop();
    },
  };
}

/** `BENCH_PROFILE=<service>` writes a CPU profile of that service into the working directory. */
function execArgv(service: string): string[] {
  return process.env['BENCH_PROFILE'] === service ? ['--cpu-prof', `--cpu-prof-name=${service}.cpuprofile`] : [];
}

/** CPU seconds of each process so far, including its children, such as PostgreSQL's backends. Works on Linux only. */
export function cpuSeconds(pids: Map<string, number>): Map<string, number> {
  const used = ([name, pid]: [string, number]) => {
    const all = [pid, ...childrenOf(pid)].map((each) => statOf(each)?.cpuSeconds ?? 0);
    return [name, all.reduce((sum, seconds) => sum + seconds, 0)] as const;
  };
  return new Map([...pids].map(used));
}
