/** The system that the benchmarks measure, and its organizations. */
import { connect } from '@crs/crs/connection';
import { prepareDatabase } from '@crs/local/stack';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { startTestPostgres } from '@crs/testing/postgres';
import { childrenOf, statOf } from '@crs/testing/proc';
import { startProcesses, type ProcessesConfig, type ProcessName } from '@crs/testing/processes';
import { startRedis } from '@crs/testing/redis';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';

export const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };
/** The user of each organization that {@link createOrganization} creates. */
export const EMAIL = 'ann@bench.example';

export type System = Awaited<ReturnType<typeof startSystem>>;

/** Starts the system as in production: PostgreSQL, Redis, and one process of each service, or as many as in `replicas`. */
export async function startSystem(environment: Record<string, string> = {}, replicas?: ProcessesConfig['replicas']) {
  const postgres = await startTestPostgres('C');
  const redis = await startRedis();
  if (!redis) process.stderr.write('redis-server is not on the PATH: rate-limit keeps the counters in memory.\n');
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const processes = await startProcesses({
    databaseUrl: postgres.url,
    secret: SECRET,
    redisUrl: redis?.url,
    environment,
    ...(replicas && { replicas }),
    execArgv,
  });
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  return {
    databaseUrl: postgres.url,
    operator,
    api: processes.api,
    apis: processes.apis,
    tools: processes.tools,
    admin: processes.admin,
    ops: (service: ProcessName) => processes.ops(service),
    /** Process ids by name: the services, `postgres` and `redis`. */
    pids: new Map([['postgres', postgres.pid], ...(redis ? ([['redis', redis.pid]] as const) : []), ...processes.pids]),
    stop: async () => {
      operator.close();
      await processes.stop();
      await redis?.stop();
      await postgres.stop();
    },
  };
}

/** `BENCH_PROFILE=<service>` writes CPU profiles of that service, one for each thread, into `<service>.profiles`. */
function execArgv(service: string): string[] {
  return process.env['BENCH_PROFILE'] === service ? ['--cpu-prof', `--cpu-prof-dir=${service}.profiles`] : [];
}

/** Creates an organization with high limits, a user and these records. @returns a key, and a token of the user */
export async function createOrganization(
  { operator }: System,
  id: string,
  records: object[] = [],
  settings: object = {},
): Promise<{ key: string; token: string }> {
  await load(operator, [
    { type: 'organization', id, name: id, rate_limit: BOUNDLESS, tool_rate_limit: BOUNDLESS, ...settings },
    { type: 'user', organization: id, email: EMAIL, name: 'Ann' },
    ...records.map((record) => ({ organization: id, ...record })),
  ]);
  return { key: await createKey(operator, id), token: await createToken(operator, id, EMAIL) };
}

export const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

/** Returns the CPU seconds of each process so far, including its children, such as PostgreSQL's backends. Linux only. */
export function cpuSeconds(pids: Map<string, number>): Map<string, number> {
  const used = ([name, pid]: [string, number]) => {
    const all = [pid, ...childrenOf(pid)].map((each) => statOf(each)?.cpuSeconds ?? 0);
    return [name, all.reduce((sum, seconds) => sum + seconds, 0)] as const;
  };
  return new Map([...pids].map(used));
}
