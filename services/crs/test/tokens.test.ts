import { expect, test } from 'vitest';
import { tokenCache } from '../src/connection.ts';

function cache() {
  const issued: string[] = [];
  const clock = { now: 0 };
  const tokens = tokenCache(
    async (organization) => {
      issued.push(organization);
      return `${organization}#${issued.length}`;
    },
    () => clock.now,
  );
  return { issued, clock, tokens };
}

test('a token is asked for once an organization, and again after 45 seconds', async () => {
  const { clock, tokens } = cache();
  expect(await tokens('acme')).toBe('acme#1');
  expect(await tokens('')).toBe('#2');
  clock.now = 44_999;
  expect(await tokens('acme')).toBe('acme#1');
  clock.now = 45_000;
  expect(await tokens('acme')).toBe('acme#3');
});

test('a failure is not remembered', async () => {
  let fails = true;
  const tokens = tokenCache(
    async () => {
      if (fails) throw new Error('away');
      return 'token';
    },
    () => 0,
  );
  await expect(tokens('acme')).rejects.toThrow('away');
  fails = false;
  expect(await tokens('acme')).toBe('token');
});

test('no more than 1,000 are kept, the newest', async () => {
  const { issued, tokens } = cache();
  for (let i = 0; i <= 1_000; i++) await tokens(`o${i}`);
  await tokens('o1');
  expect(issued.length).toBe(1_001);
  await tokens('o0');
  expect(issued.length).toBe(1_002);
});
