import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { client, type ServiceClient } from '@crs/kit/grpc-client';
import type { Service } from '@crs/kit/lifecycle';
import { createLogger } from '@crs/kit/log';
import { RateLimiter } from '@crs/kit/rate-limit/limiter';
import { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import { RateLimitServiceService, type RateLimitResponse_DescriptorStatus } from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { startRedis } from '@crs/testing/redis';
import { createRateLimitService } from '../src/service.ts';

const redis = await startRedis();
if (!redis) console.log('NOT RUN: the service with Redis, as there is no redis-server on the PATH');
afterAll(() => redis?.stop());

const log = createLogger('test', { level: 'silent' });
const defaults = {
  organization: { requests: 600, periodSeconds: 60 },
  user: { requests: 120, periodSeconds: 45 },
  address: { requests: 60, periodSeconds: 1 },
};

type Entries = [key: string, value: string][];
const describing = (entries: Entries, limit?: RateLimitDescriptor['limit']) =>
  RateLimitDescriptor.fromPartial({ entries: entries.map(([key, value]) => ({ key, value })), ...(limit && { limit }) });

let lastId = 0;
const newId = () => `subject-${lastId++}`;

async function startService(redisUrl?: string): Promise<{ service: Service; address: string }> {
  // Far above what a loaded machine needs: what a short one does is tested with the store.
  const service = createRateLimitService({ listen: '127.0.0.1:0', redisUrl, redisTimeoutMs: 3_000, defaults }, { log });
  const { grpc } = await service.start();
  return { service, address: grpc };
}

const clientOf = (address: string) =>
  client(RateLimitServiceService, { name: 'rate-limit', address, timeoutMs: 5_000, retry: false });

describe.each([
  { where: 'this process', url: undefined, runs: true },
  { where: 'Redis', url: redis?.url, runs: redis !== undefined },
])('with counters in $where', ({ url, runs }) => {
  describe.skipIf(!runs)('the service', () => {
    let service: Service;
    let api: ServiceClient<RateLimitServiceService>;
    beforeAll(async () => {
      const started = await startService(url);
      service = started.service;
      api = clientOf(started.address);
    });
    afterAll(async () => {
      api.close();
      await service.stop();
    });

    const ask = (descriptors: RateLimitDescriptor[], { domain = 'call-research', hitsAddend = 0 } = {}) =>
      api.shouldRateLimit({ domain, descriptors, hitsAddend });
    const askOne = async (entries: Entries, limit?: RateLimitDescriptor['limit']) =>
      (await ask([describing(entries, limit)])).statuses[0]!;
    const resetOf = ({ durationUntilReset }: RateLimitResponse_DescriptorStatus) =>
      durationUntilReset!.seconds * 1_000 + durationUntilReset!.nanos / 1e6;

    it('admits up to the limit, and not one more', async () => {
      const entries: Entries = [
        ['kind', 'organization'],
        ['id', newId()],
        ['rule', '3/60'],
      ];
      const statuses = [];
      for (let n = 0; n < 4; n++) statuses.push(await askOne(entries));
      expect(statuses.map(({ code, limitRemaining }) => [code, limitRemaining])).toEqual([
        ['OK', 2],
        ['OK', 1],
        ['OK', 0],
        ['OVER_LIMIT', 0],
      ]);
    });

    it('admits exactly the limit of many at the same time', async () => {
      const entries: Entries = [
        ['kind', 'organization'],
        ['id', newId()],
        ['rule', '25/60'],
      ];
      const statuses = await Promise.all(Array.from({ length: 60 }, () => askOne(entries)));
      expect(statuses.filter(({ code }) => code === 'OK')).toHaveLength(25);
    });

    it('states the limit, and when the window closes from now on', async () => {
      const entries: Entries = [
        ['kind', 'organization'],
        ['id', newId()],
        ['rule', '3/60'],
      ];
      const first = await askOne(entries);
      expect(first.currentLimit).toEqual({ requestsPerUnit: 3, unit: 'MINUTE', name: '' });
      expect(resetOf(first)).toBe(60_000);
      await sleep(20);
      expect(resetOf(await askOne(entries))).toBeLessThanOrEqual(59_990);
    });

    it('admits again after the stated reset', async () => {
      const entries: Entries = [
        ['kind', 'organization'],
        ['id', newId()],
        ['rule', '1/1'],
      ];
      await askOne(entries);
      let refused = await askOne(entries);
      // On a machine that slept through the window.
      while (refused.code === 'OK') refused = await askOne(entries);
      await sleep(resetOf(refused) + 1);
      expect(await askOne(entries)).toMatchObject({ code: 'OK', limitRemaining: 0 });
    });

    it.each([
      ['600/1', 'SECOND'],
      ['600/3600', 'HOUR'],
      ['600/86400', 'DAY'],
      ['600/61', 'UNKNOWN'],
    ])('names the unit of %s: %s', async (rule, unit) => {
      expect(
        (
          await askOne([
            ['kind', 'user'],
            ['id', newId()],
            ['rule', rule],
          ])
        ).currentLimit,
      ).toMatchObject({ unit });
    });

    it.each([
      ['organization', 600, 60_000],
      ['user', 120, 45_000],
      ['address', 60, 1_000],
    ])('holds a kind without a rule to its default: %s', async (kind, requestsPerUnit, resetInMs) => {
      const status = await askOne([
        ['kind', kind],
        ['id', newId()],
      ]);
      expect(status).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit }, limitRemaining: requestsPerUnit - 1 });
      expect(resetOf(status)).toBe(resetInMs);
    });

    it('prefers the standard override to the default', async () => {
      const limit = { requestsPerUnit: 5, unit: 'HOUR' } as const;
      const status = await askOne(
        [
          ['kind', 'organization'],
          ['id', newId()],
        ],
        limit,
      );
      expect(status).toMatchObject({ currentLimit: limit, limitRemaining: 4 });
      expect(resetOf(status)).toBe(3_600_000);
    });

    it('prefers our rule to the standard override', async () => {
      const status = await askOne(
        [
          ['kind', 'organization'],
          ['id', newId()],
          ['rule', '7/60'],
        ],
        { requestsPerUnit: 5, unit: 'HOUR' },
      );
      expect(status.currentLimit).toMatchObject({ requestsPerUnit: 7 });
    });

    it('admits nothing under an override of 0', async () => {
      const status = await askOne([['remote_address', newId()]], { requestsPerUnit: 0, unit: 'DAY' });
      expect(status).toMatchObject({ code: 'OVER_LIMIT', limitRemaining: 0 });
    });

    it('does not limit what has no limit', async () => {
      for (const entries of [[['remote_address', newId()]], [['kind', 'constructor']]] as Entries[]) {
        expect(await askOne(entries)).toEqual({
          code: 'OK',
          currentLimit: undefined,
          limitRemaining: 0,
          durationUntilReset: undefined,
        });
      }
    });

    it('counts domains, kinds, ids and rules apart, and what only looks alike', async () => {
      const id = newId();
      const limit = { requestsPerUnit: 9, unit: 'HOUR' } as const;
      const asked = [
        await ask([describing([['a', id]], limit)]),
        await ask([describing([['a', id]], limit)], { domain: 'other' }),
        await ask([describing([['a', `${id}:b=c`]], limit)]),
        await ask([
          describing(
            [
              ['a', id],
              ['b', 'c'],
            ],
            limit,
          ),
        ]),
        await ask([describing([['a', `${id}}`]], limit)]),
        await ask([describing([['a', id]], { ...limit, requestsPerUnit: 10 })]),
        await ask([describing([['a', id]], { ...limit, unit: 'DAY' })]),
      ];
      for (const { statuses } of asked) expect(statuses[0]!.limitRemaining).toBe(statuses[0]!.currentLimit!.requestsPerUnit - 1);
    });

    it('adds the hits of the request, one by default', async () => {
      const descriptor = describing([
        ['kind', 'organization'],
        ['id', newId()],
        ['rule', '10/60'],
      ]);
      const remaining = [];
      for (const hitsAddend of [0, 1, 6, 3])
        remaining.push((await ask([descriptor], { hitsAddend })).statuses[0]!.limitRemaining);
      expect(remaining).toEqual([9, 8, 2, 0]);
    });

    it('answers for many descriptors in order, and charges them all', async () => {
      const [open, spent] = [newId(), newId()];
      const descriptors = [
        describing([
          ['kind', 'organization'],
          ['id', spent],
          ['rule', '1/60'],
        ]),
        describing([
          ['kind', 'organization'],
          ['id', open],
          ['rule', '3/60'],
        ]),
        describing([['generic_key', 'x']]),
        describing([
          ['kind', 'organization'],
          ['id', open],
          ['rule', '3/60'],
        ]),
      ];
      const first = await ask(descriptors);
      expect(first.overallCode).toBe('OK');
      expect(first.statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([0, 2, 0, 1]);
      const second = await ask(descriptors);
      expect(second.overallCode).toBe('OVER_LIMIT');
      expect(second.statuses.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OK', 'OK', 'OVER_LIMIT']);
    });

    const fine = describing([
      ['kind', 'organization'],
      ['id', 'refused'],
      ['rule', '5/60'],
    ]);
    it.each([
      ['an empty domain', 'domain', () => ask([fine], { domain: '' })],
      ['no descriptors', 'descriptors', () => ask([])],
      ['a descriptor without entries', 'descriptors[1].entries', () => ask([fine, describing([])])],
      ['an entry without a key', 'descriptors[1].entries', () => ask([fine, describing([['', 'x']])])],
      ['an entry without a value', 'descriptors[1].entries', () => ask([fine, describing([['x', '']])])],
      [
        'a rule that is none',
        'descriptors[1].entries',
        () =>
          ask([
            fine,
            describing([
              ['kind', 'user'],
              ['rule', '600'],
            ]),
          ]),
      ],
      [
        'an override without a unit',
        'descriptors[1].limit.unit',
        () => ask([fine, describing([['x', 'y']], { requestsPerUnit: 1, unit: 'UNKNOWN' })]),
      ],
    ])('refuses %s', async (_, field, send) => {
      await expect(send()).rejects.toMatchObject({ kind: 'invalid_argument', field });
    });

    it('charges nothing of what it refuses', async () => {
      expect((await ask([fine])).statuses[0]!.limitRemaining).toBe(4);
    });

    it('serves the limiter of the gateways', async () => {
      const { service: another, address } = await startService(url);
      const limiter = new RateLimiter({ address, replicas: 1, timeoutMs: 5_000, log });
      const check = { kind: 'organization', id: newId(), rule: { requests: 2, periodSeconds: 61 } } as const;
      const decisions = await Promise.all([limiter.check(check), limiter.check(check), limiter.check(check)]);
      expect(decisions).toMatchObject([
        { allowed: true, limit: 2, remaining: 1, resetInMs: 61_000, source: 'service' },
        { allowed: true, limit: 2, remaining: 0, source: 'service' },
        { allowed: false, limit: 2, remaining: 0, source: 'service' },
      ]);
      limiter.close();
      await another.stop();
    });
  });
});

describe.skipIf(!redis)('when Redis is gone', { timeout: 40_000 }, () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0).toReversed()) await clean();
  });

  it('calls fail fast, gateways count by themselves, and both come back with it', async () => {
    const own = (await startRedis())!;
    cleanups.push(() => own.stop());
    const { service, address } = await startService(own.url);
    cleanups.push(() => service.stop());
    const api = clientOf(address);
    cleanups.push(() => api.close());
    const limiter = new RateLimiter({ address, replicas: 2, timeoutMs: 5_000, log });
    cleanups.push(() => limiter.close());
    const check = { kind: 'organization', id: newId(), rule: { requests: 10, periodSeconds: 60 } } as const;
    const ask = () =>
      api.shouldRateLimit({
        domain: 'call-research',
        descriptors: [
          describing([
            ['kind', 'user'],
            ['id', 'x'],
          ]),
        ],
        hitsAddend: 0,
      });
    await ask();
    expect(await limiter.check(check)).toMatchObject({ source: 'service', limit: 10 });

    await own.stop();
    const started = performance.now();
    await expect(ask()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(await limiter.check(check)).toMatchObject({ source: 'fallback', limit: 5 });

    const again = (await startRedis(own.port))!;
    cleanups.push(() => again.stop());
    await vi.waitFor(ask, { timeout: 15_000 });
    await vi.waitFor(async () => expect(await limiter.check(check)).toMatchObject({ source: 'service' }), { timeout: 15_000 });
  });

  it('two instances share the counters while it is there', async () => {
    const [one, other] = [await startService(redis!.url), await startService(redis!.url)];
    const descriptors = [
      describing([
        ['kind', 'organization'],
        ['id', newId()],
        ['rule', '2/60'],
      ]),
    ];
    const codes = [];
    for (const { address } of [one, other, one]) {
      const api = clientOf(address);
      codes.push((await api.shouldRateLimit({ domain: 'call-research', descriptors, hitsAddend: 0 })).overallCode);
      api.close();
    }
    expect(codes).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    await Promise.all([one.service.stop(), other.service.stop()]);
  });
});
