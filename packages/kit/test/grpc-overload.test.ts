import { afterEach, expect, it } from 'vitest';
import { RateLimitServiceService, type RateLimitRequest } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { deadlineExceeded, overloaded, REASONS, unavailable, type ServiceError } from '../src/errors.ts';
import { client } from '../src/rpc/client.ts';
import { bind, rpc, serve } from '../src/rpc/server.ts';
import { createLogger } from '../src/process/log.ts';

const log = createLogger('test', { level: 'silent' });
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

/** A service that answers the domain `well` and fails for any other, and a client that retries. */
async function start(failure: () => ServiceError) {
  let asked = 0;
  const shouldRateLimit = rpc({ anyone: true }, async ({ domain }: RateLimitRequest) => {
    asked++;
    if (domain !== 'well') throw failure();
    return { overallCode: 'OK' as const, statuses: [] };
  });
  const services = [bind(RateLimitServiceService, ['api-gateway'], { shouldRateLimit })];
  const verify = () => Promise.reject(new Error('not asked'));
  const server = await serve({ name: 'test', address: '127.0.0.1:0', services, verify, log });
  cleanups.push(() => server.stop());
  const service = client(RateLimitServiceService, { name: 'test', address: server.address, timeoutMs: 5_000, retry: true });
  cleanups.push(() => service.close());
  return { call: (domain: string) => service.shouldRateLimit({ domain, descriptors: [], hitsAddend: 1 }), asked: () => asked };
}

it.each([
  ['refused because of overload', overloaded, { kind: 'resource_exhausted', reason: 'OVERLOADED' }],
  [
    'slow by itself',
    () => deadlineExceeded(undefined, REASONS.slowWork),
    { kind: 'deadline_exceeded', reason: REASONS.slowWork },
  ],
])('work that is %s is not retried, and does not count against the health of the target', async (_, failure, expected) => {
  const { call, asked } = await start(failure);
  for (let n = 0; n < 100; n++) await expect(call('crowded')).rejects.toMatchObject(expected);
  expect(asked()).toBe(100);
  await expect(call('well')).resolves.toBeDefined();
});

it('a target that is not available is tried again; after many failures it is left alone', async () => {
  const { call, asked } = await start(() => unavailable('It is down.'));
  await expect(call('ill')).rejects.toMatchObject({ kind: 'unavailable' });
  expect(asked()).toBe(3);
  await Promise.allSettled(Array.from({ length: 40 }, () => call('ill')));
  await expect(call('well')).rejects.toMatchObject({ kind: 'unavailable' });
});
