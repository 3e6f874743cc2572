import { afterAll, beforeAll, expect, it } from 'vitest';
import { breakInTurn } from '../rounds.ts';
import { rolling } from '../rolling.ts';
import { startFaultySystem, type FaultySystem } from '../system.ts';

// A short form of `node trials/faults/main.ts`, which sends several times as many requests.
const PACE = { clients: 4, pauseMs: 190 };

let system: FaultySystem;
beforeAll(async () => {
  system = await startFaultySystem({ replicas: { 'api-gateway': 2, calls: 2 }, relays: true });
}, 120_000);
afterAll(() => system?.stop());

it('no request fails while replicas are stopped by SIGTERM and started again', { timeout: 120_000 }, async () => {
  expect(await rolling(system, { passes: 1, ...PACE, services: ['calls', 'api-gateway'] })).toEqual([]);
});

it('during a fault, refusals are timely and correct, and soon after it no request is refused', { timeout: 120_000 }, async () => {
  const rounds = [
    { victim: 'postgres', fault: 'killed' },
    { victim: 'auth', fault: 'killed' },
  ] as const;
  const results = await breakInTurn(system, { rounds: [...rounds], ...PACE });
  expect(results.flatMap(({ faults }) => faults)).toEqual([]);
  // Otherwise the test would have checked no refusal.
  const refused = (victim: string) => results.find((each) => each.victim === victim)!.outcomes.filter(({ served }) => !served);
  expect(refused('postgres').length).toBeGreaterThan(0);
  expect(refused('auth').length).toBeGreaterThan(0);
});
