import { expect, it } from 'vitest';
import { randomFrom } from '../../faults/random.ts';
import { followRounds } from '../rounds.ts';

// A short form of `node trials/changes/main.ts`.
it('copies equal the details after ten rounds in which parts are killed', { timeout: 300_000 }, async () => {
  const parts = [
    'calls',
    'postgres',
    'auth',
    'api-gateway',
    'calls',
    'postgres',
    'projects',
    'calls',
    'rate-limit',
    'postgres',
  ] as const;
  const rounds = parts.map((part) => ({ victims: [part], workMs: 150 }));
  expect(await followRounds(rounds, randomFrom(Date.now()))).toEqual([]);
});
