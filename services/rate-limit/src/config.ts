import { z } from 'zod';
import { ruleSetting } from '@crs/kit/limits/rule';
import { hostPort, milliseconds, passwordFile, settings } from '@crs/kit/process/config';

const redisUrl = z.url({ protocol: /^rediss?$/ });
const redisUrls = z.string().refine((text) => text.split(',').every((part) => redisUrl.safeParse(part).success), {
  error: 'must be a redis:// or rediss:// URL, or several of a Redis Cluster, separated by commas',
});

const redisName = z.string().regex(/^[A-Za-z0-9._-]{1,128}$/, { error: 'must be the name of a primary, such as mymaster' });

/** Admits no braces, which would change the hash tag by which a Redis Cluster chooses the node. */
const redisPrefix = z.string().regex(/^[A-Za-z0-9_.:/-]{0,128}$/, {
  error: 'must have at most 128 characters of A-Z, a-z, 0-9 and _ . : / -',
});

export type RateLimitConfig = ReturnType<typeof readConfig>;

export const readConfig = settings({
  listen: ['CRS_LISTEN', hostPort],
  /** URL of the Redis server, or of several nodes of a Redis Cluster. Absent: counters are in memory, so only one process may run. */
  redisUrl: ['REDIS_URL', redisUrls.optional()],
  /** The name of the primary that Redis Sentinels watch. `REDIS_URL` then has the Sentinels. */
  redisSentinel: ['CRS_REDIS_SENTINEL', redisName.optional()],
  redisPasswordFile: ['CRS_REDIS_PASSWORD_FILE', passwordFile],
  /** Precedes each key, so that installations can share a Redis. */
  redisPrefix: ['CRS_REDIS_PREFIX', redisPrefix.default('')],
  /** How long a hit waits for Redis. */
  redisTimeoutMs: ['CRS_REDIS_TIMEOUT_MS', milliseconds.default(100)],
  // Default limits, by the descriptor's `kind`.
  organization: ['CRS_RATE_LIMIT_ORGANIZATION', ruleSetting.prefault('600/60')],
  user: ['CRS_RATE_LIMIT_USER', ruleSetting.prefault('120/60')],
  address: ['CRS_RATE_LIMIT_ADDRESS', ruleSetting.prefault('60/60')],
});
