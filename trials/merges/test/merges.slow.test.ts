import { expect, it } from 'vitest';
import { mergeRounds } from '../rounds.ts';

// A short form of `node trials/merges/main.ts`.
it(
  'calls have what their producers were told is stored, after rounds that each kill a component',
  { timeout: 300_000 },
  async () => {
    const { faults } = await mergeRounds({ victims: ['calls', 'postgres', 'api-gateway'], workMs: 500, seed: 1 });
    expect(faults).toEqual([]);
  },
);
