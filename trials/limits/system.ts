import { connect, type Connection } from '@crs/crs/connection';
import type { Rule } from '@crs/kit/limits/rule';
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

/** @param config.databaseUrl a database with every schema, as superuser */
export async function startLimitsSystem(config: Pick<ProcessesConfig, 'databaseUrl' | 'replicas'>): Promise<LimitsSystem> {
  let redis: RedisServer | undefined = await startRedis();
  if (!redis) throw new Error('There is no redis-server on the PATH: install Redis and run this again.');
  const { port, url } = redis;
  const processes = await startProcesses({ ...config, secret: SECRET, redisUrl: url });
  const operator = connect({ addresses: processes.admin, credential: OPERATOR_CREDENTIAL });
  return {
    processes,
    redis: {
      kill: async () => redis?.stop(),
      start: async () => void (redis = await startRedis(port)),
      pause: () => void process.kill(redis!.pid, 'SIGSTOP'),
      resume: () => void process.kill(redis!.pid, 'SIGCONT'),
    },
    createOrganization: async (rule) => (await createOrganization(operator, { rateLimit: rule })).key,
    createUser: async (rule) => {
      const { call } = await createOrganization(operator, { toolRateLimit: rule });
      const email = 'ann@limits.example';
      await operator.auth.createUser({ email, name: 'Ann', password: '' }, await call());
      const { accessToken } = await operator.auth.createToken({ email, scopes: [], expiresInSeconds: 0 }, await call());
      return accessToken;
    },
    stop: async () => {
      operator.close();
      await processes.stop();
      await redis?.stop();
    },
  };
}

let lastOrganization = 0;

async function createOrganization({ auth, operator }: Connection, limits: { rateLimit?: Rule; toolRateLimit?: Rule }) {
  const id = `limits-${process.pid}-${lastOrganization++}`;
  const call = () => operator(id);
  const settings = {
    name: id,
    writeSurface: undefined,
    anonymizeInterviewees: undefined,
    allowedFields: undefined,
    rateLimit: limits.rateLimit,
    toolRateLimit: limits.toolRateLimit,
    oidcProvider: undefined,
  };
  await auth.createOrganization({ settings }, await call());
  const { secret } = await auth.createKey({ label: '', readOnly: true, expiresInSeconds: 0 }, await call());
  return { key: secret, call };
}
