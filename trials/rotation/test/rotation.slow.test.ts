import { afterEach, expect, it } from 'vitest';
import { startFaultySystem, type FaultySystem } from '../../faults/system.ts';
import { rotate } from '../rotation.ts';

let system: FaultySystem | undefined;
afterEach(() => system?.stop());

// A short form of `node trials/rotation/main.ts`, which rotates all secrets and sends ten times as many requests.
it('no request fails and nobody is signed out while secrets rotate', { timeout: 240_000 }, async () => {
  // Started here, because a retry of the test needs a new system: the first attempt has replaced the secret.
  system = await startFaultySystem({ replicas: { auth: 2, 'tool-gateway': 2 }, relays: false });
  expect(await rotate(system, ['secret', 'apiKey'], { clients: 2, pauseMs: 200, personPauseMs: 300 })).toEqual([]);
});
