import { afterEach, expect, it, vi } from 'vitest';
import { addressCheck, limitHeaders, refusalOf } from './charge.ts';

const RULE = { requests: 60, periodSeconds: 45 };
const NOW = 1_750_000_000_400;

afterEach(() => void vi.useRealTimers());

it.each([1, 599, 600, 601, 1_000, 59_999, 60_000])(
  'a refusal %i ms before the window closes states the wait in seconds, rounded up',
  (resetInMs) => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOW });
    const decision = { allowed: false, limit: 60, remaining: 0, resetInMs, source: 'service' } as const;
    const times = [
      Number(limitHeaders(decision)['X-RateLimit-Reset']) * 1_000,
      NOW + Number(refusalOf(decision, 'the user')!.headers['Retry-After']) * 1_000,
    ];
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(NOW + resetInMs);
      expect(time).toBeLessThan(NOW + resetInMs + 1_000);
    }
  },
);

it('a request over IPv6 is charged to its /64, and to its /56 and /48 with wider limits', () => {
  const of = (id: string, times: number) => ({ kind: 'address', id, rule: { ...RULE, requests: 60 * times } });
  expect(addressCheck('2001:db8:1:2345::/64', RULE)).toEqual({
    ...of('2001:db8:1:2345::/64', 1),
    wider: [of('2001:db8:1:2300::/56', 4), of('2001:db8:1::/48', 16)],
  });
});

it('a request over IPv4 is charged only to its address, with a separate counter for each purpose', () => {
  expect(addressCheck('192.0.2.1', RULE)).toEqual({ kind: 'address', id: '192.0.2.1', rule: RULE });
  expect(addressCheck('192.0.2.1', RULE, 'sign-in')).toEqual({ kind: 'address', id: '192.0.2.1 sign-in', rule: RULE });
});
