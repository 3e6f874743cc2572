import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atReset, exactness } from '../exactness.ts';
import { mostInOutage, outage } from '../faults.ts';
import { startLimitsSystem, type LimitsSystem } from '../system.ts';
import { startRedis } from '@crs/testing/redis';

const probe = await startRedis();
await probe?.stop();

/**
 * A short form of `node trials/limits/run.ts`. A gateway whose request for the shared counter times out counts locally. That also happens if the machine
 * stalls for a moment, which makes a measurement meaningless, so it is repeated.
 */
describe.skipIf(!probe)('limits of three gateways', { timeout: 120_000 }, () => {
  const rule = { requests: 20, periodSeconds: 2 };
  let system: LimitsSystem;
  beforeAll(async () => {
    system = await startLimitsSystem({ 'api-gateway': 3 });
  });
  afterAll(() => system?.stop());

  async function undisturbed<T>(measure: () => Promise<T>): Promise<T> {
    for (;;) {
      const before = await system.countFailures();
      const result = await measure();
      if ((await system.countFailures()) === before) return result;
    }
  }

  it('are exact', async () => {
    const result = await undisturbed(() => exactness(system, 'rest', rule, 3));
    expect(result).toMatchObject({ admittedMin: 20, admittedMax: 20, refusedBelow: 0, faults: [] });
    expect(result.windows).toBeGreaterThanOrEqual(2);
  });

  it('admit all clients that wait until the reset', async () => {
    const result = await undisturbed(() => atReset(system, { requests: 50, periodSeconds: 2 }));
    expect(result).toEqual({ admitted: 50, faults: [] });
  });

  it.each(['Redis killed', 'rate-limit paused'] as const)(
    'fall back to a separate count in each gateway, without an error, and are exact again afterwards: %s',
    async (victim) => {
      let result: Awaited<ReturnType<typeof outage>>;
      do result = await outage(system, victim, rule, { afterMs: 60, lastedMs: 1_500, windowsAfter: 1 });
      while (result.disturbed);
      expect(result).toMatchObject({ faults: [], after: [20], refusedBelowAfter: 0 });
      expect(result.mostAdmitted).toBeLessThanOrEqual(mostInOutage(system, rule.requests));
    },
  );
});
