import { ServiceError } from '@crs/kit/errors';
import type { LimitedKind } from '@crs/kit/limits/limiter';
import type { Rule } from '@crs/kit/limits/rule';
import type { Dependencies } from '@crs/kit/process/health';
import { Shutdown, type Service, type Runtime } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import { FINISH_MS, serve } from '@crs/kit/rpc/server';
import type { RateLimitConfig } from './config.ts';
import { internalServices } from './handlers/index.ts';
import { MemoryStore } from './store/memory-store.ts';
import { RedisStore } from './store/redis-store.ts';

const NAME = 'rate-limit';

/** Counts requests for any client of Envoy's rate limit protocol. It also starts while Redis is down; calls then fail with `unavailable`. */
export function createRateLimitService(config: RateLimitConfig, { log, tls }: Runtime): Service<{ grpc: string }> {
  const shutdown = new Shutdown(log);
  const redis = openRedis(config, log);
  const dependencies: Dependencies = redis ? { redis: async () => redis.isConnected } : {};
  return {
    dependencies,
    async start() {
      shutdown.defer('redis', () => redis?.close());
      await redis?.open();
      const store = redis ?? new MemoryStore();
      const { organization, user, address } = config;
      const defaults = new Map(Object.entries({ organization, user, address } satisfies Record<LimitedKind, Rule>));
      const services = internalServices({ store, defaults });
      const server = await serve({ name: NAME, address: config.listen, services, verify: refuse, dependencies, log, tls });
      shutdown.defer('grpc', () => server.stop(), FINISH_MS + 1_000);
      return { grpc: server.address };
    },
    stop: () => shutdown.run(),
  };
}

function openRedis(config: RateLimitConfig, log: Logger): RedisStore | undefined {
  const { redisUrl: url, redisSentinel: sentinel, redisPasswordFile: passwordFile } = config;
  const { redisPrefix: prefix, redisTimeoutMs: timeoutMs } = config;
  return url === undefined ? undefined : new RedisStore({ url, sentinel, passwordFile, prefix, timeoutMs, log });
}

/** Stock clients of the protocol send no caller token, so no RPC of this service reads one. */
async function refuse(): Promise<never> {
  throw new ServiceError('unauthenticated', 'This service takes no caller tokens.');
}
