import { afterAll, beforeAll, expect, it } from 'vitest';
import { startFaultySystem, type FaultySystem } from '../../faults/system.ts';
import { rotate } from '../rotation.ts';

// A short form of `node trials/rotation/main.ts`, which rotates all secrets and asks ten times as often.
let system: FaultySystem;
beforeAll(async () => {
  system = await startFaultySystem({ replicas: { auth: 2, 'tool-gateway': 2 }, relays: false });
}, 120_000);
afterAll(() => system?.stop());

it('no request fails and nobody is signed out while secrets rotate', { timeout: 120_000 }, async () => {
  expect(await rotate(system, ['secret', 'apiKey'], { clients: 2, pauseMs: 200, personPauseMs: 300 })).toEqual([]);
});
