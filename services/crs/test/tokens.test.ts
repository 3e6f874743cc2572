import { expect, test } from 'vitest';
import { tokenCache } from '../src/connection.ts';

function cache() {
  const issued: string[] = [];
  let now = 1;
  const issue = async (organization: string) => {
    issued.push(organization);
    return `${organization}#${issued.length}`;
  };
  return { issued, tokens: tokenCache(issue, { now: () => now }), pass: (ms: number) => void (now += ms) };
}

test('a token is asked for once an organization, and again after 45 seconds', async () => {
  const { tokens, pass } = cache();
  expect(await tokens('acme')).toBe('acme#1');
  expect(await tokens('')).toBe('#2');
  pass(45_000);
  expect(await tokens('acme')).toBe('acme#1');
  pass(1);
  expect(await tokens('acme')).toBe('acme#3');
});

test('calls at the same time share one request for a token', async () => {
  const { issued, tokens } = cache();
  expect(await Promise.all([tokens('acme'), tokens('acme')])).toEqual(['acme#1', 'acme#1']);
  expect(issued).toHaveLength(1);
});

test('a failure is not remembered', async () => {
  let fails = true;
  const tokens = tokenCache(async () => {
    if (fails) throw new Error('away');
    return 'token';
  });
  await expect(tokens('acme')).rejects.toThrow('away');
  fails = false;
  expect(await tokens('acme')).toBe('token');
});

test('no more than 1,000 are kept', async () => {
  const { issued, tokens } = cache();
  for (let i = 0; i <= 1_000; i++) await tokens(`o${i}`);
  await tokens('o1');
  expect(issued.length).toBe(1_001);
  await tokens('o0');
  expect(issued.length).toBe(1_002);
});
