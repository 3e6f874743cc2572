import { connect } from '@crs/crs/connection';
import type { Rule } from '@crs/kit/limits/rule';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { startProcesses, type Processes, type ProcessesConfig } from '@crs/testing/processes';
import { startRedis, type RedisServer } from '@crs/testing/redis';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';

/** The system as processes, with a real Redis that can be killed and paused. Each organization gets a limit of its own. */
export interface LimitsSystem {
  processes: Processes;
  redis: { kill(): Promise<void>; start(): Promise<void>; pause(): void; resume(): void };
  /** @returns the key of a new organization */
  createOrganization(rule: Rule): Promise<string>;
  /** @returns the token of a new user in a new organization */
  createUser(rule: Rule): Promise<string>;
  stop(): Promise<void>;
}

const EMAIL = 'ann@limits.example';

/** @param config.databaseUrl a database with every schema, as superuser */
export async function startLimitsSystem(config: Pick<ProcessesConfig, 'databaseUrl' | 'replicas'>): Promise<LimitsSystem> {
  let redis: RedisServer | undefined = await startRedis();
  if (!redis) throw new Error('There is no redis-server on the PATH: install Redis and run this again.');
  const { port, url } = redis;
  const processes = await startProcesses({ ...config, secret: SECRET, redisUrl: url });
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  let organizations = 0;
  const createOrganization = async (limit: 'rate_limit' | 'tool_rate_limit', { requests, periodSeconds }: Rule) => {
    const id = `limits-${process.pid}-${organizations++}`;
    await load(operator, [
      { type: 'organization', id, name: id, [limit]: { requests, period_seconds: periodSeconds } },
      { type: 'user', organization: id, email: EMAIL, name: 'Ann' },
    ]);
    return id;
  };
  return {
    processes,
    redis: {
      kill: async () => redis?.stop(),
      start: async () => void (redis = await startRedis(port)),
      pause: () => void process.kill(redis!.pid, 'SIGSTOP'),
      resume: () => void process.kill(redis!.pid, 'SIGCONT'),
    },
    createOrganization: async (rule) => createKey(operator, await createOrganization('rate_limit', rule)),
    createUser: async (rule) => createToken(operator, await createOrganization('tool_rate_limit', rule), EMAIL),
    stop: async () => {
      operator.close();
      await processes.stop();
      await redis?.stop();
    },
  };
}
