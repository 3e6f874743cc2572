/** The system of the trials of rate limits: several gateways on one Redis. */
import { connect } from '@crs/crs/connection';
import type { Rule } from '@crs/kit/limits/rule';
import { createKey, createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import type { ProcessesConfig } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { startFaultySystem } from '../faults/system.ts';

/** A system with Redis, in which each organization gets its own limit. */
export type LimitsSystem = Awaited<ReturnType<typeof startLimitsSystem>>;

const EMAIL = 'ann@limits.example';

export async function startLimitsSystem(replicas: NonNullable<ProcessesConfig['replicas']>) {
  const system = await startFaultySystem({ replicas, relays: false });
  const { redis } = system;
  if (!redis) throw new Error('redis-server is not on the PATH: install Redis and run this again.');
  const operator = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
  let organizations = 0;
  const create = async (limit: 'rate_limit' | 'tool_rate_limit', { requests, periodSeconds }: Rule) => {
    const id = `limits-${organizations++}`;
    await load(operator, [
      { type: 'organization', id, name: id, [limit]: { requests, period_seconds: periodSeconds } },
      { type: 'user', organization: id, email: EMAIL, name: 'Ann' },
    ]);
    return id;
  };
  return {
    ...system,
    redis,
    /** @returns the key of a new organization */
    createOrganization: async (rule: Rule) => createKey(operator, await create('rate_limit', rule)),
    /** @returns the token of a new user in a new organization */
    createUser: async (rule: Rule) => createToken(operator, await create('tool_rate_limit', rule), EMAIL),
    /** Returns how many requests the REST gateways have counted locally so far, because rate-limit did not respond in time. */
    countFailures: async () => {
      const metrics = system.processes.apis.map(async (_, index) => {
        const response = await fetch(`http://${system.processes.ops('api-gateway', index + 1)}/metrics`);
        return response.text();
      });
      const values = (await Promise.all(metrics)).flatMap((text) => [
        ...text.matchAll(/^crs_ratelimit_failures_total\S* (\d+)/gm),
      ]);
      return values.reduce((sum, [, value]) => sum + Number(value), 0);
    },
    stop: async () => {
      operator.close();
      await system.stop();
    },
  };
}
