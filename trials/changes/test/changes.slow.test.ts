import { randomFrom } from '@crs/testing/random';
import { expect, it } from 'vitest';
import { followRounds } from '../rounds.ts';

// A short form of `node trials/changes/main.ts`.
it('copies equal the details after six rounds in which parts are killed', { timeout: 300_000 }, async () => {
  const parts = ['calls', 'postgres', 'auth', 'api-gateway', 'projects', 'rate-limit'] as const;
  const rounds = parts.map((part) => ({ victims: [part], workMs: 150 }));
  expect(await followRounds(rounds, randomFrom(1))).toEqual([]);
});
