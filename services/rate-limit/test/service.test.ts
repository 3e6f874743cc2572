import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RateLimiter } from '@crs/kit/limits/limiter';
import type { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import { startRedis } from '@crs/testing/redis';
import { describing, log, newId, resetOf, startService, type Entries, type Running } from './_service.ts';

const redis = await startRedis();
afterAll(() => redis?.stop());

const organization = (rule: string): Entries => ({ kind: 'organization', id: newId(), rule });

describe.each([
  { where: 'this process', url: undefined, runs: true },
  { where: 'Redis', url: redis?.url, runs: redis !== undefined },
])('with counters in $where', ({ url, runs }) => {
  describe.skipIf(!runs)('the service', () => {
    let service: Running;
    beforeAll(async () => {
      service = await startService(url);
    });
    afterAll(() => service.stop());

    it('admits requests up to the limit, and refuses the next', async () => {
      const entries = organization('3/60');
      const statuses = [];
      for (let n = 0; n < 4; n++) statuses.push(await service.sendOne(entries));
      expect(statuses.map(({ code, limitRemaining }) => [code, limitRemaining])).toEqual([
        ['OK', 2],
        ['OK', 1],
        ['OK', 0],
        ['OVER_LIMIT', 0],
      ]);
    });

    it('admits exactly the limit out of many concurrent requests', async () => {
      const entries = organization('25/60');
      const statuses = await Promise.all(Array.from({ length: 60 }, () => service.sendOne(entries)));
      expect(statuses.filter(({ code }) => code === 'OK')).toHaveLength(25);
    });

    it('returns the limit and the time until the window closes', async () => {
      const entries = organization('3/60');
      const first = await service.sendOne(entries);
      expect(first.currentLimit).toEqual({ requestsPerUnit: 3, unit: 'MINUTE', name: '' });
      expect(resetOf(first)).toBe(60_000);
      await sleep(20);
      expect(resetOf(await service.sendOne(entries))).toBeLessThanOrEqual(59_990);
    });

    it.each([
      ['600/1', 'SECOND'],
      ['600/3600', 'HOUR'],
      ['600/86400', 'DAY'],
      ['600/61', 'UNKNOWN'],
    ])('returns for the rule %s the unit %s', async (rule, unit) => {
      expect((await service.sendOne(organization(rule))).currentLimit).toMatchObject({ unit });
    });

    it.each([
      ['organization', 600, 60_000],
      ['user', 120, 45_000],
      ['address', 60, 1_000],
    ])("applies the kind's default to a descriptor of kind %s without a rule", async (kind, requestsPerUnit, resetInMs) => {
      const status = await service.sendOne({ kind, id: newId() });
      expect(status).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit }, limitRemaining: requestsPerUnit - 1 });
      expect(resetOf(status)).toBe(resetInMs);
    });

    it("prefers Envoy's limit override to the default", async () => {
      const limit = { requestsPerUnit: 5, unit: 'HOUR' } as const;
      const status = await service.sendOne({ kind: 'organization', id: newId() }, limit);
      expect(status).toMatchObject({ currentLimit: limit, limitRemaining: 4 });
      expect(resetOf(status)).toBe(3_600_000);
    });

    it("prefers our rule entry to Envoy's limit override", async () => {
      const status = await service.sendOne(organization('7/60'), { requestsPerUnit: 5, unit: 'HOUR' });
      expect(status.currentLimit).toMatchObject({ requestsPerUnit: 7 });
    });

    it('admits nothing under an override of 0', async () => {
      const status = await service.sendOne({ remote_address: newId() }, { requestsPerUnit: 0, unit: 'DAY' });
      expect(status).toMatchObject({ code: 'OVER_LIMIT', limitRemaining: 0 });
    });

    it.each<Entries>([{ remote_address: '::1' }, { kind: 'constructor' }])(
      'does not limit a descriptor without a limit: %o',
      async (entries) => {
        const bare = { code: 'OK', currentLimit: undefined, limitRemaining: 0, durationUntilReset: undefined };
        expect(await service.sendOne(entries)).toEqual(bare);
      },
    );

    it('keeps separate counters for similar domains, entries and limits', async () => {
      const id = newId();
      const limit = { requestsPerUnit: 9, unit: 'HOUR' } as const;
      const descriptors = [
        describing({ a: id }, limit),
        describing({ a: `${id}:b=c` }, limit),
        describing({ a: id, b: 'c' }, limit),
        describing({ a: `${id}}` }, limit),
        describing({ a: id }, { ...limit, requestsPerUnit: 10 }),
        describing({ a: id }, { ...limit, unit: 'DAY' }),
      ];
      const answers = [await service.send(descriptors), await service.send(descriptors, { domain: 'other' })];
      for (const { statuses } of answers)
        expect(statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([8, 8, 8, 8, 9, 8]);
    });

    it('adds the hitsAddend of the request, 1 if it is 0, and nothing if it exceeds what is left', async () => {
      const descriptor = describing(organization('10/60'));
      const remaining = [];
      for (const hitsAddend of [0, 1, 6, 3]) {
        remaining.push((await service.send([descriptor], { hitsAddend })).statuses[0]!.limitRemaining);
      }
      expect(remaining).toEqual([9, 8, 2, 2]);
    });

    it('charges every descriptor of a request, and returns the statuses in the same order', async () => {
      const open = describing(organization('3/60'));
      const descriptors = [describing(organization('1/60')), open, describing({ generic_key: 'x' }), open];
      const first = await service.send(descriptors);
      expect(first.overallCode).toBe('OK');
      expect(first.statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([0, 2, 0, 1]);
      const second = await service.send(descriptors);
      expect(second.overallCode).toBe('OVER_LIMIT');
      expect(second.statuses.map(({ code }) => code)).toEqual(['OVER_LIMIT', 'OK', 'OK', 'OVER_LIMIT']);
    });

    it("prefers a descriptor's hitsAddend to the request's; 0 only reads the counter", async () => {
      const entries = organization('10/60');
      const weighing = (hitsAddend: number) => ({ ...describing(entries), hitsAddend });
      const { statuses } = await service.send([weighing(4), describing(entries), weighing(0)], { hitsAddend: 2 });
      expect(statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([6, 4, 4]);
    });

    it.each<[what: string, field: string, bad: RateLimitDescriptor]>([
      ['a descriptor without entries', 'descriptors[1].entries', describing({})],
      ['an entry without a key', 'descriptors[1].entries', describing({ '': 'x' })],
      ['an entry without a value', 'descriptors[1].entries', describing({ x: '' })],
      ['a malformed rule', 'descriptors[1].entries', describing({ kind: 'user', rule: '600' })],
      [
        'an override without a unit',
        'descriptors[1].limit.unit',
        describing({ x: 'y' }, { requestsPerUnit: 1, unit: 'UNKNOWN' }),
      ],
    ])('refuses %s, and charges nothing', async (_, field, bad) => {
      const good = describing(organization('5/60'));
      await expect(service.send([good, bad])).rejects.toMatchObject({ kind: 'invalid_argument', field });
      expect((await service.send([good])).statuses[0]!.limitRemaining).toBe(4);
    });

    it('refuses an empty domain and a request without descriptors', async () => {
      const good = describing(organization('5/60'));
      await expect(service.send([good], { domain: '' })).rejects.toMatchObject({ kind: 'invalid_argument', field: 'domain' });
      await expect(service.send([])).rejects.toMatchObject({ kind: 'invalid_argument', field: 'descriptors' });
    });

    it('serves the RateLimiter that the gateways use', async () => {
      const limiter = new RateLimiter({ address: service.address, timeoutMs: 5_000, log });
      const check = { kind: 'organization', id: newId(), rule: { requests: 2, periodSeconds: 61 } } as const;
      const decisions = await Promise.all([limiter.check(check), limiter.check(check), limiter.check(check)]);
      limiter.close();
      expect(decisions).toMatchObject([
        { allowed: true, limit: 2, remaining: 1, resetInMs: 61_000, source: 'service' },
        { allowed: true, limit: 2, remaining: 0, source: 'service' },
        { allowed: false, limit: 2, remaining: 0, source: 'service' },
      ]);
    });
  });
});
