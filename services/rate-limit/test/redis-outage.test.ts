import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { RateLimiter } from '@crs/kit/limits/limiter';
import { startRedis } from '@crs/testing/redis';
import { describing, log, newId, startService } from './_service.ts';

const redis = await startRedis();
afterAll(() => redis?.stop());

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

describe.skipIf(!redis)('with counters in Redis,', { timeout: 40_000 }, () => {
  it('all instances of the service share the counters', async () => {
    const [one, other] = [await startService(redis!.url), await startService(redis!.url)];
    cleanups.push(
      () => one.stop(),
      () => other.stop(),
    );
    const entries = { kind: 'organization', id: newId(), rule: '2/60' };
    const codes = [];
    for (const service of [one, other, one]) codes.push((await service.sendOne(entries)).code);
    expect(codes).toEqual(['OK', 'OK', 'OVER_LIMIT']);
  });

  it('calls fail fast while Redis is down, and gateways count locally until it recovers', async () => {
    const own = (await startRedis())!;
    cleanups.push(() => own.stop());
    const service = await startService(own.url);
    cleanups.push(() => service.stop());
    const limiter = new RateLimiter({ address: service.address, timeoutMs: 5_000, log });
    cleanups.push(() => limiter.close());
    const check = { kind: 'organization', id: newId(), rule: { requests: 10, periodSeconds: 60 } } as const;
    const send = () => service.send([describing({ kind: 'user', id: 'x' })]);
    expect(await send()).toMatchObject({ overallCode: 'OK' });
    expect(await limiter.check(check)).toMatchObject({ source: 'service', limit: 10 });

    await own.stop();
    const started = performance.now();
    await expect(send()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(performance.now() - started).toBeLessThan(4_500);
    expect(await limiter.check(check)).toMatchObject({ source: 'fallback', limit: 10, remaining: 9 });

    const again = (await startRedis(own.port))!;
    cleanups.push(() => again.stop());
    expect(await vi.waitFor(send, { timeout: 15_000 })).toMatchObject({ overallCode: 'OK' });
    await vi.waitFor(async () => expect(await limiter.check(check)).toMatchObject({ source: 'service' }), { timeout: 15_000 });
  });
});
