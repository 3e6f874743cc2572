import { randomFrom } from '@crs/testing/random';
import { expect, it } from 'vitest';
import { followRounds } from '../rounds.ts';

// A short form of `node trials/changes/main.ts`.
it(
  'copies equal all calls, projects and entities after six rounds that each kill a component',
  { timeout: 300_000 },
  async () => {
    const components = ['calls', 'postgres', 'auth', 'api-gateway', 'projects', 'rate-limit'] as const;
    const rounds = components.map((component) => ({ victims: [component], workMs: 150 }));
    expect(await followRounds(rounds, randomFrom(1))).toEqual([]);
  },
);
