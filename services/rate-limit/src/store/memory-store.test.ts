import { expect, it } from 'vitest';
import { MemoryStore } from './memory-store.ts';

const HIT = { key: 'a', amount: 1, windowMs: 1_000 };

it('closes a window in the very millisecond that was stated', async () => {
  let now = 0;
  const store = new MemoryStore(() => now);
  await store.add(HIT);
  now = 999;
  expect(await store.add(HIT)).toEqual({ count: 2, resetInMs: 1 });
  now = 1_000;
  expect(await store.add(HIT)).toEqual({ count: 1, resetInMs: 1_000 });
});

it.each([0.25, 0.7, 16.1, 12_345.678_9, 98_765_432.1])(
  'states whole milliseconds with a clock that has fractions: %d',
  async (start) => {
    let now = start;
    const store = new MemoryStore(() => now);
    expect(await store.add(HIT)).toEqual({ count: 1, resetInMs: 1_000 });
    now += 500;
    const { resetInMs } = await store.add(HIT);
    expect(resetInMs).toBe(500);
    now += resetInMs;
    expect(await store.add(HIT)).toMatchObject({ count: 1 });
  },
);
