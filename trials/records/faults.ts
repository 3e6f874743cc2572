/** What fails while the producers send: requests at the proxies, services and databases. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, Proxy } from '@crs/testing/fault-proxy';
import { say } from '../faults/clients.ts';
import { breakPart, mendPart, victimOf, type FaultySystem, type Part } from '../faults/system.ts';

/** The share of requests that a proxy interferes with. */
const SHARE = 0.3;
/** The components that sending a call depends on. */
const VICTIMS: readonly Part[] = ['api-gateway', 'auth', 'calls', 'rate-limit', 'postgres', 'redis'];

/** What a proxy did to the requests of a producer. */
export interface Interference {
  counts: Map<string, number>;
  /** When the last request came, as `performance.now()`. */
  lastAt: number;
}

/** Makes a proxy interfere with requests at random. */
export function interfere(proxy: Proxy, random: () => number): Interference {
  const interference: Interference = { counts: new Map(), lastAt: Infinity };
  proxy.reset(async (exchange) => {
    interference.lastAt = performance.now();
    // A whole run has more bodies than the memory should hold.
    exchange.body = '';
    const [name, fault] = random() < SHARE ? draw(random) : ['forwarded', undefined];
    count(interference.counts, name);
    if (fault !== 'late') return fault;
    await sleep(1_500);
    return undefined;
  });
  return interference;
}

const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);

function draw(random: () => number): [string, Fault | 'late'] {
  const faults: [string, Fault | 'late'][] = [
    ['502', { status: 502 }],
    ['503', { status: 503, headers: { 'Retry-After': '1' } }],
    ['504', { status: 504 }],
    ['429', { status: 429, headers: { 'Retry-After': '1' } }],
    ['request cut', { abandon: random(), afterMs: 20 }],
    ['reset', { abandon: 1, afterMs: random() * 200 }],
    ['response cut', { cut: 'inside' }],
    ['response lost', { cut: 'before' }],
    ['hung', { hang: 1_000 }],
    ['late', 'late'],
  ];
  return faults[Math.floor(random() * faults.length)]!;
}

/** Kills or pauses one component after the other until it is stopped. Then it resolves with the number of faults by component. */
export function breakComponents(system: FaultySystem, random: () => number): { stop(): Promise<Map<string, number>> } {
  let stopped = false;
  const counts = new Map<string, number>();
  const loop = async () => {
    while (!stopped) {
      const part = VICTIMS[Math.floor(random() * VICTIMS.length)]!;
      const fault = random() < 0.8 ? 'killed' : 'paused';
      const victim = victimOf(system, part);
      if (!victim) continue;
      const brokenAt = performance.now();
      await breakPart(victim, fault);
      await sleep(200 + random() * 1_500);
      await mendPart(victim, fault);
      count(counts, `${part} ${fault}`);
      const ms = performance.now() - brokenAt;
      say(`  ${part} ${fault} for ${ms.toFixed(0)} ms`);
      // On a busy machine, a start takes long. Requests need time between faults all the same.
      await sleep((1 + 2 * random()) * Math.max(ms, 1_500));
    }
  };
  const looping = loop();
  return {
    stop: async () => {
      stopped = true;
      await looping;
      return counts;
    },
  };
}
