import { expect, it } from 'vitest';
import { MemoryStore } from './memory-store.ts';

const hit = (key: string, windowMs = 1_000) => ({ key, amount: 1, windowMs });

it('forgets closed windows', async () => {
  let now = 0;
  const store = new MemoryStore(() => now);
  for (let n = 0; n < 1_000; n++) await store.add(hit(`short-${n}`));
  await store.add(hit('long', 86_400_000));
  now = 60_000;
  await store.add(hit('fresh'));
  expect(store.size).toBe(2);
  expect(await store.add(hit('long', 86_400_000))).toEqual({ count: 2, resetInMs: 86_340_000 });
});

it('gives up the window that opened first when it is full', async () => {
  const store = new MemoryStore(() => 0, 2);
  for (const key of ['a', 'b', 'a', 'c']) await store.add(hit(key));
  expect(store.size).toBe(2);
  expect(await store.add(hit('b'))).toMatchObject({ count: 2 });
  expect(await store.add(hit('a'))).toMatchObject({ count: 1 });
});

it('closes a window in the very millisecond that was stated', async () => {
  let now = 0;
  const store = new MemoryStore(() => now);
  await store.add(hit('a'));
  now = 999;
  expect(await store.add(hit('a'))).toEqual({ count: 2, resetInMs: 1 });
  now = 1_000;
  expect(await store.add(hit('a'))).toEqual({ count: 1, resetInMs: 1_000 });
});

it.each([0.25, 0.7, 16.1, 12_345.678_9, 98_765_432.1])(
  'states whole milliseconds with a clock that has fractions: %d',
  async (start) => {
    let now = start;
    const store = new MemoryStore(() => now);
    expect(await store.add(hit('a'))).toEqual({ count: 1, resetInMs: 1_000 });
    now += 500;
    const { resetInMs } = await store.add(hit('a'));
    expect(resetInMs).toBe(500);
    now += resetInMs;
    expect(await store.add(hit('a'))).toMatchObject({ count: 1 });
  },
);
