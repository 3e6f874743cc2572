import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atReset, exactness } from '../exactness.ts';
import { mostInOutage, outage } from '../faults.ts';
import { startLimitsSystem, type LimitsSystem } from '../system.ts';
import { startRedis } from '@crs/testing/redis';

const probe = await startRedis();
await probe?.stop();

/**
 * A short form of `node trials/limits/run.ts`. A gateway that waits too long for the shared counter counts by itself, as it does on a machine that
 * halts for a moment. Such a measurement says nothing, so it is made again.
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
      const seen = await measure();
      if ((await system.countFailures()) === before) return seen;
    }
  }

  it('are exact', async () => {
    const seen = await undisturbed(() => exactness(system, 'rest', rule, 3));
    expect(seen).toMatchObject({ admittedMin: 20, admittedMax: 20, refusedBelow: 0, faults: [] });
    expect(seen.windows).toBeGreaterThanOrEqual(2);
  });

  it('admit all clients that slept until the reset', async () => {
    const seen = await undisturbed(() => atReset(system, { requests: 50, periodSeconds: 2 }));
    expect(seen).toEqual({ admitted: 50, faults: [] });
  });

  it.each(['Redis killed', 'rate-limit paused'] as const)(
    'are counted by each gateway during the fault without an error, and are exact afterwards: %s',
    async (victim) => {
      let seen: Awaited<ReturnType<typeof outage>>;
      do seen = await outage(system, victim, rule, { afterMs: 60, lastedMs: 1_500, windowsAfter: 1 });
      while (seen.disturbed);
      expect(seen).toMatchObject({ faults: [], after: [20], refusedBelowAfter: 0 });
      expect(seen.mostAdmitted).toBeLessThanOrEqual(mostInOutage(system, rule.requests));
    },
  );
});
