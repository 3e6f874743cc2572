import { expect, it } from 'vitest';
import { decide } from './counter.ts';

it.each([
  [1, true, 2],
  [3, true, 0],
  [4, false, 0],
  [400, false, 0],
])('hit %i of at most 3: allowed is %s, remaining is %i', (count, allowed, remaining) => {
  const rule = { requests: 3, periodSeconds: 60 };
  expect(decide(rule, { count, resetInMs: 1234 })).toEqual({ allowed, limit: 3, remaining, resetInMs: 1234 });
});
