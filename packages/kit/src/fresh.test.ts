import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Fresh, type FreshOptions } from './fresh.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] }));
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const after = <T>(ms: number, value: T) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));

/** A source whose value is its version, which changes as the test says. A load reads the version when it starts. */
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

describe('a value', () => {
  it('is used again up to its age, counted from the start of its load', async () => {
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

  it('is loaded again for callers whose shared load took too long', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 }, 1_500);
    const first = get();
    await pass(900);
    state.version = 1;
    state.latencyMs = 10;
    const second = get();
    await pass(2_000);
    expect([await first, await second, state.loads]).toEqual([0, 1, 2]);
  });

  it('has an age of its own where the option is a function', async () => {
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

  it('is that of a load that starts later, where no age is allowed', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 });
    const first = get();
    await pass(1);
    state.version = 1;
    const second = get(0);
    await pass(1);
    expect([await first, await second]).toEqual([0, 1]);
  });

  it('is refreshed in the background, while callers go on with it', async () => {
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

  it('is cached by its key', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 });
    const both = Promise.all([get(undefined, 'a'), get(undefined, 'b')]);
    await pass(0);
    expect([await both, state.loads]).toEqual([[0, 0], 2]);
  });
});

describe('a failure', () => {
  it('is that of the callers who started the load; others load for themselves', async () => {
    const { get, state } = source({ maxAgeMs: 1_000 }, 100);
    state.isDown = true;
    const first = outcome(get());
    await pass(50);
    state.isDown = false;
    const second = outcome(get());
    await pass(200);
    expect([await first, await second, state.loads]).toEqual(['down', 0, 2]);
  });

  it('leaves a stale value in use only up to its greatest age, and is not repeated by each caller', async () => {
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

it('no value is older than allowed, and loads are shared, whatever the order of changes, failures and callers', async () => {
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
      /** When each version began, by `performance.now()`. */
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
        // The value is of a load that started after the caller arrived, or at most a second ago.
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
