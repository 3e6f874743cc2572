import { afterAll, beforeAll, expect, it } from 'vitest';
import { breakInTurn } from '../rounds.ts';
import { rolling } from '../rolling.ts';
import { startFaultySystem, type FaultySystem } from '../system.ts';

// The short form of `node trials/faults/main.ts`.
let system: FaultySystem;
beforeAll(async () => {
  system = await startFaultySystem({ replicas: { 'api-gateway': 2, calls: 2 }, relays: true });
}, 120_000);
afterAll(() => system?.stop());

it('not one request fails while replicas are ended by SIGTERM and started again', { timeout: 120_000 }, async () => {
  expect(await rolling(system, { passes: 1, clients: 4, services: ['calls', 'api-gateway'] })).toEqual([]);
});

it('what is broken is told as such, in time and with nothing wrong, and is soon forgotten', { timeout: 120_000 }, async () => {
  const rounds = [
    { victim: 'postgres', fault: 'killed' },
    { victim: 'auth', fault: 'killed' },
  ] as const;
  const results = await breakInTurn(system, { rounds: [...rounds], clients: 4, warmUpMs: 0 });
  expect(results.flatMap(({ faults }) => faults)).toEqual([]);
  // It was felt.
  const refused = (victim: string) => results.find((each) => each.victim === victim)!.outcomes.filter(({ served }) => !served);
  expect(refused('postgres').length).toBeGreaterThan(0);
  expect(refused('auth').length).toBeGreaterThan(0);
});
