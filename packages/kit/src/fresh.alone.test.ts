import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fresh, type FreshOptions } from './fresh.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const after = <T>(ms: number, value: T) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));

/** A source whose value is `state.version`, which the test changes. A load reads the version when it starts and returns it after `latencyMs`. */
function source(options: FreshOptions<number>, latencyMs = 0) {
  const fresh = new Fresh<number>(options);
  const state = { version: 0, latencyMs, isDown: false, loads: 0 };
  const load = async () => {
    state.loads++;
    const { version, isDown } = state;
    await after(state.latencyMs, undefined);
    if (isDown) throw new Error('down');
    return version;
  };
  return { fresh, state, get: (maxAgeMs?: number, key = 'key') => fresh.get(key, load, maxAgeMs) };
}

const outcome = (answer: Promise<number>) => answer.catch((error: Error) => error.message);

describe('a cached value', () => {
  it('is reused until its maximum age, counted from the start of its load', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 }, 400);
    const first = get();
    await pass(400);
    expect(await first).toBe(0);
    state.version = 1;
    await pass(600);
    expect(await get()).toBe(0);
    await pass(1);
    const second = get();
    await pass(400);
    expect([await second, state.loads]).toEqual([1, 2]);
  });

  it('is loaded again for a caller if the load that it shared exceeded the maximum age', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 }, 1_500);
    const first = get();
    await pass(900);
    state.version = 1;
    state.latencyMs = 10;
    const second = get();
    await pass(2_000);
    expect([await first, await second, state.loads]).toEqual([0, 1, 2]);
  });

  it('has its own maximum age if the option is a function', async () => {
    const { get, state } = source({ maxAgeMs: (version) => (version === 0 ? 100 : 500) });
    await pass(0);
    const first = get();
    await pass(0);
    expect(await first).toBe(0);
    state.version = 1;
    await pass(101);
    const second = get();
    await pass(0);
    expect(await second).toBe(1);
    await pass(500);
    expect([await get(), state.loads]).toEqual([1, 2]);
  });

  it('comes from a load that starts after the call if the allowed age is 0', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 });
    const first = get();
    await pass(1);
    state.version = 1;
    const second = get(0);
    await pass(1);
    expect([await first, await second]).toEqual([0, 1]);
  });

  it('is refreshed in the background while callers still get the old one', async () => {
    const { get, state } = source({ maxAgeMs: 5_000, refreshMs: 1_000 }, 50);
    const first = get();
    await pass(50);
    await first;
    state.version = 1;
    await pass(1_000);
    expect(await get()).toBe(0);
    expect(await get()).toBe(0);
    await pass(50);
    expect([await get(), state.loads]).toEqual([1, 2]);
  });

  it('is cached separately for each key', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 });
    const both = Promise.all([get(undefined, 'a'), get(undefined, 'b')]);
    await pass(0);
    expect([await both, state.loads]).toEqual([[0, 0], 2]);
  });
});

describe('a failed load', () => {
  it('rejects only the caller that started it; callers that joined it load again', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 }, 100);
    state.isDown = true;
    const first = outcome(get());
    await pass(50);
    state.isDown = false;
    const second = outcome(get());
    await pass(200);
    expect([await first, await second, state.loads]).toEqual(['down', 0, 2]);
  });

  it('leaves a stale value in use up to its stale limit, and is not retried by every caller', async () => {
    const { get, state } = source({ maxAgeMs: 5_000, refreshMs: 1_000, staleMs: 60_000 });
    const first = get();
    await pass(0);
    await first;
    state.isDown = true;
    await pass(5_001);
    for (let n = 0; n < 10; n++) {
      const again = get();
      await pass(10);
      expect(await again).toBe(0);
    }
    expect(state.loads).toBe(2);
    await pass(60_000);
    const last = outcome(get());
    await pass(0);
    expect(await last).toBe('down');
  });
});

it('no value is older than allowed, and loads are shared, in any order of changes, failures and calls', async () => {
  const MAX_AGE = 1_000;
  const step = fc.record({
    passMs: fc.integer({ min: 0, max: 700 }),
    latencyMs: fc.integer({ min: 0, max: 1_500 }),
    isDown: fc.boolean(),
    change: fc.boolean(),
    callers: fc.integer({ min: 0, max: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { get, state } = source({ maxAgeMs: MAX_AGE });
      /** Start time of each version, by `performance.now()`. */
      const began = [-Infinity];
      // A load that starts in the same millisecond as a change may have started before it, so it may return either version.
      const versionBefore = (time: number) => began.findLastIndex((at) => at < time);
      const faults: string[] = [];
      const calls: Promise<void>[] = [];
      let callers = 0;
      const call = async () => {
        const arrivedAt = performance.now();
        const answer = await outcome(get());
        if (typeof answer === 'string') return;
        // The value must come from a load that started after the caller arrived, or at most MAX_AGE ago.
        const oldest = Math.min(arrivedAt, performance.now() - MAX_AGE);
        if (answer < versionBefore(oldest)) faults.push(`version ${answer} at ${performance.now()}, of a caller at ${arrivedAt}`);
      };
      for (const { passMs, latencyMs, isDown, change, callers: more } of steps) {
        Object.assign(state, { latencyMs, isDown });
        if (change) {
          state.version++;
          began.push(performance.now());
        }
        for (let n = 0; n < more; n++) calls.push(call());
        callers += more;
        await pass(passMs);
      }
      await pass(10_000);
      await Promise.all(calls);
      expect(faults).toEqual([]);
      expect(state.loads).toBeLessThanOrEqual(callers);
    }),
    { numRuns: 300 },
  );
});
