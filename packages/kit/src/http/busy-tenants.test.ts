import { expect, test } from 'vitest';
import { BusyTenants } from './busy-tenants.ts';

test('names the organizations that used the most slots in the last full window, and no more than wanted', () => {
  let now = 0;
  const tenants = new BusyTenants(2, () => now);
  now = 15_000;
  for (const [organization, seconds] of [
    ['small', 0.1],
    ['large', 3],
    ['middle', 2],
    ['large', 4],
    ['tiny', 0.01],
  ] as const) {
    tenants.add(organization, seconds);
  }
  now = 29_999;
  expect(tenants.busiest()).toEqual([['(others)', { requests: 0, slotSeconds: 0 }]]);
  now = 30_000;
  expect(tenants.busiest()).toEqual([
    ['large', { requests: 2, slotSeconds: 7 }],
    ['middle', { requests: 1, slotSeconds: 2 }],
    ['(others)', { requests: 2, slotSeconds: 0.11 }],
  ]);
  now = 45_000;
  expect(tenants.busiest()).toHaveLength(1);
  tenants.close();
});

test('a window without a request leaves nothing behind', () => {
  let now = 15_000;
  const tenants = new BusyTenants(1, () => now);
  tenants.add('acme', 1);
  now = 60_000;
  expect(tenants.busiest()).toEqual([['(others)', { requests: 0, slotSeconds: 0 }]]);
  tenants.close();
});

test('tells 10,000 organizations apart in a window; those after them are others', () => {
  let now = 15_000;
  const tenants = new BusyTenants(100, () => now);
  for (let n = 0; n < 10_001; n++) tenants.add(`org-${n}`, n === 10_000 ? 50 : 1);
  tenants.add('org-0', 9);
  now = 30_000;
  const busiest = tenants.busiest();
  expect(busiest).toHaveLength(101);
  expect(busiest[0]).toEqual(['org-0', { requests: 2, slotSeconds: 10 }]);
  expect(busiest.at(-1)).toEqual(['(others)', { requests: 9_901, slotSeconds: 9_950 }]);
  tenants.close();
});
