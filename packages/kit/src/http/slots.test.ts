import { expect, it } from 'vitest';
import { TenantSlots } from './slots.ts';

it.each([
  [1, 1],
  [32, 1],
  [63, 1],
  [64, 2],
])('of %i slots, a tenant gets %i at once beside others, and all when it asks alone', (perTenant, atOnce) => {
  const wanted = { deadline: Date.now() + 60_000, signal: AbortSignal.timeout(50) };
  const gets = (slots: TenantSlots) => {
    let got = 0;
    for (;;) {
      const slot = slots.acquire('crowd', wanted);
      if (slot instanceof Promise) {
        slot.catch(() => {});
        slots.close();
        return got;
      }
      got++;
    }
  };
  expect(gets(new TenantSlots(perTenant, 0))).toBe(perTenant);
  const slots = new TenantSlots(perTenant, 0);
  void slots.acquire('calm', wanted);
  expect(gets(slots)).toBe(atOnce);
});
