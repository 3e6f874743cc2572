import { expect, it } from 'vitest';
import { FixedWindows } from './fixed-windows.ts';

const WINDOW_MS = 1_000;
const LIMIT = 10;

it('the least recently used window is dropped when the capacity is exceeded', () => {
  const windows = new FixedWindows(() => 0, 2);
  for (const key of ['a', 'b', 'a', 'c']) windows.add(key, 1, WINDOW_MS, LIMIT);
  expect(windows.add('a', 1, WINDOW_MS, LIMIT)).toMatchObject({ count: 3 });
  expect(windows.add('b', 1, WINDOW_MS, LIMIT)).toMatchObject({ count: 1 });
});

it('a window closes in exactly the millisecond that resetInMs stated', () => {
  let now = 0;
  const windows = new FixedWindows(() => now);
  windows.add('a', 1, WINDOW_MS, LIMIT);
  now = 999;
  expect(windows.add('a', 1, WINDOW_MS, LIMIT)).toEqual({ count: 2, allowed: true, resetInMs: 1 });
  now = 1_000;
  expect(windows.add('a', 1, WINDOW_MS, LIMIT)).toEqual({ count: 1, allowed: true, resetInMs: 1_000 });
});

it.each([0.25, 0.7, 16.1, 12_345.678_9, 98_765_432.1])(
  'resetInMs is a whole number even if the clock has fractions: %d',
  (start) => {
    let now = start;
    const windows = new FixedWindows(() => now);
    expect(windows.add('a', 1, WINDOW_MS, LIMIT)).toEqual({ count: 1, allowed: true, resetInMs: 1_000 });
    now += 500;
    const { resetInMs } = windows.add('a', 1, WINDOW_MS, LIMIT);
    expect(resetInMs).toBe(500);
    now += resetInMs;
    expect(windows.add('a', 1, WINDOW_MS, LIMIT)).toMatchObject({ count: 1 });
  },
);
