import { ServiceError } from '@crs/kit/errors';
import type { LimitedKind } from '@crs/kit/limits/limiter';
import type { Rule } from '@crs/kit/limits/rule';
import type { Dependencies } from '@crs/kit/process/health';
import { Closer, type Service, type Surroundings } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import { DRAIN_MS, serve } from '@crs/kit/rpc/server';
import type { RateLimitConfig } from './config.ts';
import type { CounterStore } from './domain/counter.ts';
import { internalServices } from './handlers/index.ts';
import { MemoryStore } from './store/memory-store.ts';
import { RedisStore } from './store/redis-store.ts';

const NAME = 'rate-limit';

/** Counts requests for any client of Envoy's rate limit protocol. Starts and runs without Redis too: calls then fail with `unavailable`. */
export function createRateLimitService(config: RateLimitConfig, { log, tls }: Surroundings): Service<{ grpc: string }> {
  const closer = new Closer(log);
  let store: CounterStore | undefined;
  const dependencies: Dependencies = config.redisUrl === undefined ? {} : { redis: async () => store?.isConnected === true };
  return {
    dependencies,
    async start() {
      store = await openStore(config, log, closer);
      const { organization, user, address } = config;
      const defaults = new Map(Object.entries({ organization, user, address } satisfies Record<LimitedKind, Rule>));
      const services = internalServices({ store, defaults });
      const server = await serve({ name: NAME, address: config.listen, services, verify: refuse, dependencies, log, tls });
      closer.defer('grpc', () => server.stop(), DRAIN_MS + 1_000);
      return { grpc: server.address };
    },
    stop: () => closer.close(),
  };
}

async function openStore(
  { redisUrl, redisPasswordFile, redisPrefix, redisTimeoutMs }: RateLimitConfig,
  log: Logger,
  closer: Closer,
): Promise<CounterStore> {
  if (redisUrl === undefined) return new MemoryStore();
  const options = { url: redisUrl, passwordFile: redisPasswordFile, prefix: redisPrefix, timeoutMs: redisTimeoutMs, log };
  const store = new RedisStore(options);
  closer.defer('redis', () => store.close());
  await store.open();
  return store;
}

/** Stock clients of the protocol send no caller token, so no RPC of this service reads one. */
async function refuse(): Promise<never> {
  throw new ServiceError('unauthenticated', 'This service takes no caller tokens.');
}
