import { z } from 'zod';
import { hostPort, milliseconds, readEnvironment, type Environment } from '@crs/kit/process/config';
import type { LimitedKind } from '@crs/kit/limits/limiter';
import { ruleSetting, type Rule } from '@crs/kit/limits/rule';

export interface RateLimitConfig {
  /** `host:port` of the gRPC listener; port 0 takes a free one. */
  listen: string;
  /** URL of the Redis server with the counters, or URLs of nodes of a Redis Cluster, separated by commas. Absent: the counters are in this process, which must then be the only one. */
  redisUrl?: string | undefined;
  /** How long a hit waits for Redis. */
  redisTimeoutMs: number;
  /** Limits of descriptors that have a `kind` but no limit of their own. */
  defaults: Record<LimitedKind, Rule>;
}

const redisUrl = z.url({ protocol: /^rediss?$/ });
const redisUrls = z.string().refine((text) => text.split(',').every((part) => redisUrl.safeParse(part).success), {
  error: 'must be a redis:// or rediss:// URL, or several of a Redis Cluster, separated by commas',
});

const schema = z.object({
  CRS_LISTEN: hostPort,
  REDIS_URL: redisUrls.optional(),
  CRS_REDIS_TIMEOUT_MS: milliseconds.default(20),
  CRS_RATE_LIMIT_ORGANIZATION: ruleSetting.prefault('600/60'),
  CRS_RATE_LIMIT_USER: ruleSetting.prefault('120/60'),
  CRS_RATE_LIMIT_ADDRESS: ruleSetting.prefault('60/60'),
});

/** @throws Error that names each bad variable */
export function readConfig(environment: Environment): RateLimitConfig {
  const read = readEnvironment(schema, environment);
  return {
    listen: read.CRS_LISTEN,
    redisUrl: read.REDIS_URL,
    redisTimeoutMs: read.CRS_REDIS_TIMEOUT_MS,
    defaults: {
      organization: read.CRS_RATE_LIMIT_ORGANIZATION,
      user: read.CRS_RATE_LIMIT_USER,
      address: read.CRS_RATE_LIMIT_ADDRESS,
    },
  };
}
