import { ServiceError } from '@crs/kit/errors';
import { bind, DRAIN_MS, serve } from '@crs/kit/rpc/server';
import { Closer, type Service, type Surroundings } from '@crs/kit/process/lifecycle';
import type { Logger } from '@crs/kit/process/log';
import { MemoryStore, type CounterStore } from '@crs/kit/limits/counter-store';
import { RateLimitServiceService } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import type { RateLimitConfig } from './config.ts';
import { shouldRateLimit } from './handlers/should-rate-limit.ts';
import { RedisStore } from './store/redis-store.ts';

const NAME = 'rate-limit';

/** Counts requests for whoever asks by Envoy's rate limit protocol. It starts, and stays up, without Redis: calls then fail as unavailable. */
export function createRateLimitService(config: RateLimitConfig, { log, tls }: Surroundings): Service<{ grpc: string }> {
  const closer = new Closer(log);
  return {
    async start() {
      const store = await openStore(config, log, closer);
      const rpcs = { shouldRateLimit: shouldRateLimit({ store, defaults: new Map(Object.entries(config.defaults)) }) };
      const services = [bind(RateLimitServiceService, rpcs)];
      const server = await serve({ name: NAME, address: config.listen, services, verify: refuse, log, tls });
      closer.defer('grpc', () => server.stop(), DRAIN_MS + 1_000);
      return { grpc: server.address };
    },
    stop: () => closer.close(),
  };
}

async function openStore({ redisUrl, redisTimeoutMs }: RateLimitConfig, log: Logger, closer: Closer): Promise<CounterStore> {
  if (redisUrl === undefined) return new MemoryStore();
  const store = new RedisStore({ url: redisUrl, timeoutMs: redisTimeoutMs, log });
  closer.defer('redis', () => store.close());
  await store.open();
  return store;
}

/** Stock clients carry no caller token, so none is looked at. */
async function refuse(): Promise<never> {
  throw new ServiceError('unauthenticated', 'This service takes no caller tokens.');
}
