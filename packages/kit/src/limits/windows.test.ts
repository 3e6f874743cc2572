import { expect, it } from 'vitest';
import { Windows } from './windows.ts';

const rule = { requests: 90, periodSeconds: 60 };
const said = (remaining: number, allowed = true) => ({ allowed, limit: 90, remaining, resetInMs: 60_000 });

it('a refusal is remembered from when it was asked for, and stated until its window must be over', () => {
  const windows = new Windows();
  windows.learn('a', said(0, false), 1_000, 1_200);
  expect(windows.refusal('a', 1_200)).toEqual(said(0, false));
  expect(windows.refusal('a', 60_999)).toEqual({ ...said(0, false), resetInMs: 201 });
  expect(windows.refusal('a', 61_000)).toBeUndefined();
  expect(windows.refusal('b', 1_200)).toBeUndefined();
});

it('what was allowed is not remembered, and takes a refusal back', () => {
  const windows = new Windows();
  windows.learn('a', said(0), 0, 0);
  expect(windows.refusal('a', 0)).toBeUndefined();
  windows.learn('a', said(0, false), 0, 0);
  windows.learn('a', said(89), 10, 10);
  expect(windows.refusal('a', 10)).toBeUndefined();
});

const grant = (windows: Windows, now: number, times = 1000) => {
  let granted = 0;
  for (let n = 0; n < times; n++) if (windows.count('a', rule, 3, now).allowed) granted++;
  return granted;
};

it('a window that nobody knows is granted by parts', () => {
  const windows = new Windows();
  expect(windows.count('a', rule, 3, 0)).toEqual({ allowed: true, limit: 30, remaining: 29, resetInMs: 60_000 });
  expect(grant(windows, 59_999)).toBe(29);
  expect(windows.count('a', rule, 3, 59_999)).toEqual({ allowed: false, limit: 30, remaining: 0, resetInMs: 1 });
  expect(grant(windows, 60_000)).toBe(30);
});

it.each([
  [90, 30],
  [60, 20],
  [2, 1],
  [0, 0],
])('of a window with %i left, a third is granted: %i', (remaining, granted) => {
  const windows = new Windows();
  windows.learn('a', said(remaining), 0, 5_000);
  expect(grant(windows, 6_000)).toBe(granted);
  // Until it ends, which is known.
  expect(grant(windows, 64_999)).toBe(0);
  expect(grant(windows, 65_000)).toBe(30);
});

it('what was granted is told once, and again where that failed', () => {
  const windows = new Windows();
  expect(windows.tell('a', 0)).toBeUndefined();
  grant(windows, 0, 10);
  expect(windows.tell('a', 1_000)).toEqual({ granted: 10, counted: 0, windowMs: 59_000 });
  expect(windows.tell('a', 1_000)).toBeUndefined();
  expect(windows.isTelling('a')).toBe(true);
  windows.told('a', 0);
  expect(windows.isTelling('a')).toBe(false);
  grant(windows, 2_000, 5);
  expect(windows.tell('a', 2_000)).toEqual({ granted: 15, counted: 0, windowMs: 58_000 });
  // Meanwhile the service fails others.
  grant(windows, 2_000, 1);
  windows.learn('a', said(40), 2_000, 2_010);
  windows.told('a', 15);
  expect(windows.tell('a', 2_020)).toMatchObject({ granted: 1, counted: 50 });
  windows.told('a', 1);
  expect(windows.tell('a', 2_020)).toBeUndefined();
  // Away again in the same window: what the service said last counts.
  expect(grant(windows, 3_000)).toBe(14);
});

it('what was granted in a window that is over is not told', () => {
  const windows = new Windows();
  grant(windows, 0, 10);
  expect(windows.tell('a', 60_000)).toBeUndefined();
  grant(windows, 60_000, 2);
  expect(windows.tell('a', 60_000)).toMatchObject({ granted: 2 });
});

it('takes bounded room', () => {
  const windows = new Windows(2);
  for (const key of ['a', 'b', 'c']) windows.learn(key, said(0, false), 0, 0);
  expect(['a', 'b', 'c'].map((key) => windows.refusal(key, 0) !== undefined)).toEqual([false, true, true]);
});
