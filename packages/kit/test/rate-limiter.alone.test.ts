import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type RateLimitRequest,
  type RateLimitResponse,
  type RateLimitResponse_DescriptorStatus,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { unavailable } from '../src/errors.ts';
import { RateLimiter, type Check, type RateLimiterOptions } from '../src/limits/limiter.ts';
import { log, startService } from './_service.ts';

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 30 });
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));

/** Starts a rate-limit service that records its requests. */
async function startRecorder(answer: (request: RateLimitRequest) => Promise<RateLimitResponse>, address = '127.0.0.1:0') {
  const requests: RateLimitRequest[] = [];
  const server = await startService(
    (request) => {
      requests.push(request);
      return answer(request);
    },
    { address },
  );
  return { ...server, requests };
}

const idOf = (descriptor: RateLimitRequest['descriptors'][number]) => descriptor.entries.find(({ key }) => key === 'id')!.value;

/** For each descriptor, returns its id as the number of remaining requests; 0 is over the limit. */
async function echo({ descriptors }: RateLimitRequest): Promise<RateLimitResponse> {
  const statuses = descriptors.map((descriptor): RateLimitResponse_DescriptorStatus => {
    const limitRemaining = Number(idOf(descriptor));
    const code = limitRemaining === 0 ? 'OVER_LIMIT' : 'OK';
    const currentLimit = { requestsPerUnit: 600, unit: 'MINUTE', name: '' } as const;
    return { code, currentLimit, limitRemaining, durationUntilReset: { seconds: 2, nanos: 500_000_000 } };
  });
  return { overallCode: 'OK', statuses };
}

function limiterOf(address: string, options: Partial<RateLimiterOptions> = {}): RateLimiter {
  const limiter = new RateLimiter({ address, timeoutMs: 5_000, log, ...options });
  onTestFinished(() => limiter.close());
  return limiter;
}

const check = (id: number | string, requests = 600): Check => ({
  kind: 'organization',
  id: String(id),
  rule: { requests, periodSeconds: 60 },
});

describe('a check', () => {
  it('is sent as kind, id and rule, and returns the decision of the service', async () => {
    const service = await startRecorder(echo);
    const limiter = limiterOf(service.address);
    expect(await limiter.check({ kind: 'user', id: '7', rule: { requests: 90, periodSeconds: 45 } })).toEqual({
      allowed: true,
      limit: 600,
      remaining: 7,
      resetInMs: 2_500,
      source: 'service',
    });
    const entries = [
      { key: 'kind', value: 'user' },
      { key: 'id', value: '7' },
      { key: 'rule', value: '90/45' },
    ];
    expect(service.requests).toEqual([{ domain: 'call-research', descriptors: [{ entries, limit: undefined }], hitsAddend: 1 }]);
  });

  it('of several hits is refused whole, which is not cached while some of the limit is left', async () => {
    const service = await startRecorder(async ({ descriptors }) => {
      const [{ hitsAddend: hits = 1 }] = descriptors as [RateLimitRequest['descriptors'][number]];
      const currentLimit = { requestsPerUnit: 10, unit: 'HOUR', name: '' } as const;
      const code = hits > 4 ? 'OVER_LIMIT' : 'OK';
      const status = { code, currentLimit, limitRemaining: 4, durationUntilReset: { seconds: 9, nanos: 0 } } as const;
      return { overallCode: code, statuses: [status] };
    });
    const limiter = limiterOf(service.address);
    const charge = (hits: number) => limiter.check({ ...check('acme'), hits });
    expect(await charge(5)).toMatchObject({ allowed: false, remaining: 4 });
    expect(await charge(4)).toMatchObject({ allowed: true, source: 'service' });
    expect(service.requests.map(({ descriptors }) => descriptors[0]!.hitsAddend)).toEqual([5, 4]);
  });

  it('shares one call with all checks of the same turn of the event loop, and gets its own decision', async () => {
    const service = await startRecorder(echo);
    const limiter = limiterOf(service.address);
    const decisions = await Promise.all([5, 0, 9].map((id) => limiter.check(check(id))));
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 5],
      [false, 0],
      [true, 9],
    ]);
    expect(service.requests.map(({ descriptors }) => descriptors.map(idOf))).toEqual([['5', '0', '9']]);
  });

  it('does not wait for checks in later turns of the event loop', async () => {
    const service = await startRecorder(echo);
    const limiter = limiterOf(service.address);
    const first = limiter.check(check(1));
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([first, limiter.check(check(2))]);
    expect(service.requests.map(({ descriptors }) => descriptors.map(idOf))).toEqual([['1'], ['2']]);
  });

  it('shares its call with at most 99 other checks', async () => {
    const service = await startRecorder(echo);
    const limiter = limiterOf(service.address);
    const ids = Array.from({ length: 250 }, (_, index) => index + 1);
    const decisions = await Promise.all(ids.map((id) => limiter.check(check(id))));
    expect(decisions.map(({ remaining }) => remaining)).toEqual(ids);
    expect(service.requests.map(({ descriptors }) => descriptors.length).toSorted((a, b) => a - b)).toEqual([50, 100, 100]);
  });
});

describe('a check with wider counters', () => {
  const wider = (...ids: number[]): Check => ({ ...check(ids[0]!), wider: ids.slice(1).map((id) => check(id)) });

  it.each<[string, number[], boolean, number]>([
    ['reports the narrowest counter if all counters admit', [7, 8, 9], true, 7],
    ['is refused by a wider counter', [7, 0, 9], false, 0],
    ['is refused by the narrowest counter', [0, 8, 9], false, 0],
  ])('%s', async (_, ids, allowed, remaining) => {
    const service = await startRecorder(echo);
    const decision = await limiterOf(service.address).check(wider(...ids));
    expect(decision).toMatchObject({ allowed, remaining });
    // All counters are charged by one call.
    expect(service.requests.map(({ descriptors }) => descriptors.map(idOf))).toEqual([ids.map(String)]);
  });

  it('charges none of its counters while a cached refusal of one is valid', async () => {
    const service = await startRecorder(echo);
    const limiter = limiterOf(service.address);
    await limiter.check(check(0));
    for (const refusedCheck of [wider(0, 8, 9), wider(7, 8, 0)]) {
      expect(limiter.isUsedUp(refusedCheck)).toBe(true);
      expect(await limiter.check(refusedCheck)).toMatchObject({ allowed: false, source: 'remembered' });
    }
    expect(service.requests).toHaveLength(1);
  });
});

it('a refusal is cached until its window closes; then the service is called again', async () => {
  const service = await startRecorder(echo);
  let now = 1_000.7;
  const limiter = limiterOf(service.address, { now: () => now });
  const refused = { allowed: false, limit: 600, remaining: 0, resetInMs: 2_500 };
  expect(await limiter.check(check(0))).toEqual({ ...refused, source: 'service' });
  now += 2_499;
  expect(await limiter.check(check(0))).toEqual({ ...refused, resetInMs: 1, source: 'remembered' });
  now += 1;
  expect(await limiter.check(check(0))).toEqual({ ...refused, source: 'service' });
  expect(service.requests).toHaveLength(2);
});

describe('without a usable response of the service', () => {
  const NOWHERE = '127.0.0.1:1';

  it.each([
    { requests: 1, periodSeconds: 1, everyMs: 90 },
    { requests: 3, periodSeconds: 2, everyMs: 250 },
    { requests: 10, periodSeconds: 60, everyMs: 4_001 },
    { requests: 10, periodSeconds: 60, everyMs: 7_000 },
  ])(
    'each of three gateways counts by itself and admits exactly $requests requests per $periodSeconds s, with one every $everyMs ms',
    async ({ everyMs, ...rule }) => {
      let now = 0.5;
      const gateways = Array.from({ length: 3 }, () => limiterOf(NOWHERE, { now: () => now }));
      const periodMs = rule.periodSeconds * 1_000;
      const perWindow = Math.ceil(periodMs / everyMs);
      for (let window = 0; window < 3; window++) {
        for (let n = 0; n < perWindow; n++, now += everyMs) {
          const decisions = await Promise.all(gateways.map((gateway) => gateway.check({ ...check('acme'), rule })));
          const expected = {
            allowed: n < rule.requests,
            limit: rule.requests,
            remaining: Math.max(0, rule.requests - n - 1),
            resetInMs: periodMs - n * everyMs,
            source: 'fallback',
          };
          expect(decisions).toEqual([expected, expected, expected]);
        }
      }
    },
  );

  it('a gateway discards its local count once the service has responded for that counter', async () => {
    let isDown = true;
    const down = () => Promise.reject(unavailable('The counters are not available.'));
    const service = await startRecorder((request) => (isDown ? down() : echo(request)));
    const limiter = limiterOf(service.address);
    const remainingOf = async (id: number) => (await limiter.check(check(id, 5))).remaining;
    expect([await remainingOf(1), await remainingOf(1), await remainingOf(2)]).toEqual([4, 3, 4]);
    isDown = false;
    expect(await limiter.check(check(1, 5))).toMatchObject({ limit: 600, remaining: 1, source: 'service' });
    isDown = true;
    expect([await remainingOf(1), await remainingOf(2)]).toEqual([4, 3]);
  });

  it('a cached refusal stays valid until its window closes', async () => {
    const service = await startRecorder(echo);
    let now = 0;
    const limiter = limiterOf(service.address, { now: () => now });
    await limiter.check(check(0));
    await service.stop();
    now = 2_499;
    expect(await limiter.check(check(0))).toMatchObject({ allowed: false, source: 'remembered' });
    now = 2_500;
    expect(await limiter.check(check(0))).toMatchObject({ allowed: true, remaining: 599, source: 'fallback' });
  });

  it('several hits are counted whole or not at all', async () => {
    const limiter = limiterOf(NOWHERE);
    const results = [];
    for (const hits of [6, 5, 4]) results.push(await limiter.check({ ...check('acme', 10), hits }));
    expect(results.map(({ allowed, remaining }) => `${allowed} ${remaining}`)).toEqual(['true 4', 'false 4', 'true 0']);
  });

  it('each combination of kind, id and rule has its own counter', async () => {
    const limiter = limiterOf(NOWHERE);
    await limiter.check(check('acme', 2));
    const others: Check[] = [check('beta', 2), { ...check('acme', 2), kind: 'user' }, check('acme', 3)];
    for (const other of others) expect((await limiter.check(other)).remaining).toBe(other.rule.requests - 1);
  });

  it('a failed check is not retried, because the service may have counted the hit', async () => {
    const service = await startRecorder(() => Promise.reject(unavailable('The counters are not available.')));
    const limiter = limiterOf(service.address);
    for (let n = 0; n < 3; n++) expect(await limiter.check(check('acme'))).toMatchObject({ source: 'fallback' });
    expect(service.requests).toHaveLength(3);
  });

  it('a check waits no longer than the timeout for a service that does not respond', async () => {
    const service = await startRecorder(() => new Promise<never>(() => {}));
    const limiter = limiterOf(service.address, { timeoutMs: 100 });
    const started = performance.now();
    expect(await limiter.check(check('acme'))).toMatchObject({ allowed: true, source: 'fallback' });
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it('a status without a limit counts as a failure of that check alone', async () => {
    const unlimited = { code: 'OK', currentLimit: undefined, limitRemaining: 0, durationUntilReset: undefined } as const;
    const service = await startRecorder(async (request) => {
      const { overallCode, statuses } = await echo(request);
      return { overallCode, statuses: [unlimited, ...statuses.slice(1)] };
    });
    const limiter = limiterOf(service.address);
    const decisions = await Promise.all([limiter.check(check(1, 5)), limiter.check(check(2, 5))]);
    expect(decisions).toMatchObject([
      { limit: 5, remaining: 4, source: 'fallback' },
      { limit: 600, remaining: 2, source: 'service' },
    ]);
  });

  it('a closed limiter still decides, by its local count', async () => {
    const limiter = limiterOf(NOWHERE);
    limiter.close();
    expect(await limiter.check(check('acme'))).toMatchObject({ allowed: true, source: 'fallback' });
  });

  it('the service is called again as soon as it recovers', async () => {
    const service = await startRecorder(echo);
    const limiter = limiterOf(service.address);
    expect(await limiter.check(check(1))).toMatchObject({ source: 'service' });
    await service.stop();
    // Enough failures to open the breaker.
    for (let n = 0; n < 40; n++) expect(await limiter.check(check(1))).toMatchObject({ source: 'fallback' });
    await startRecorder(echo, service.address);
    await vi.waitFor(async () => expect(await limiter.check(check(1))).toMatchObject({ source: 'service' }), { timeout: 10_000 });
  });
});

it('the limiter exports a count of decisions by kind, outcome and source', async () => {
  const service = await startRecorder(echo);
  const limiter = limiterOf(service.address);
  const kind = 'address';
  await Promise.all([1, 2, 0].map((id) => limiter.check({ ...check(id), kind })));
  await limiterOf('127.0.0.1:1').check({ ...check(1), kind });
  await reader.forceFlush();
  const found = exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap((scope) => scope.metrics);
  const points = found.find(({ descriptor }) => descriptor.name === 'crs.ratelimit.decisions')!.dataPoints;
  const mine = points.filter(({ attributes }) => attributes['kind'] === kind);
  expect(mine.map(({ attributes, value }) => ({ ...attributes, value }))).toEqual([
    { kind, outcome: 'allowed', source: 'service', value: 2 },
    { kind, outcome: 'refused', source: 'service', value: 1 },
    { kind, outcome: 'allowed', source: 'fallback', value: 1 },
  ]);
});
