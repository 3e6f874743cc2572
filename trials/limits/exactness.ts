import { setTimeout as sleep } from 'node:timers/promises';
import type { Rule } from '@crs/kit/limits/rule';
import { offer, restClient, toolClient, type Answer, type Client } from './client.ts';
import type { LimitsSystem } from './system.ts';
import { faultsOf, windowsOf } from './windows.ts';

/** Sends ten times the limit, evenly over all gateways, for so many windows. */
export async function exactness(system: LimitsSystem, what: 'rest' | 'tools', rule: Rule, windows: number) {
  const { processes } = system;
  const rest = what === 'rest';
  const client = rest ? restClient(await system.createOrganization(rule)) : toolClient(await system.createUser(rule));
  const origins = rest ? processes.apis : processes.toolAddresses.map((address) => `http://${address}`);
  await warm(system, origins, what);
  const load = offer(client, origins, (10 * rule.requests) / rule.periodSeconds);
  // A window opens with the first request after the previous one has closed, so each opens a little later.
  await sleep(windows * (rule.periodSeconds * 1_000 + 50));
  const answers = await load.stop();
  const seen = windowsOf(answers, rule.periodSeconds * 1_000);
  // The end of the load may have cut the last window off.
  const whole = seen.slice(0, -1);
  const admitted = whole.map((window) => window.admitted);
  return {
    windows: whole.length,
    admittedMin: Math.min(...admitted),
    admittedMax: Math.max(...admitted, seen.at(-1)?.admitted ?? 0),
    limit: rule.requests,
    refused: answers.filter(({ outcome }) => outcome === 'refused').length,
    refusedBelow: whole.reduce((sum, { refusedBelow }) => sum + refusedBelow, 0),
    faults: faultsOf(answers),
  };
}

/** Sends some requests, so that each process loads its code and opens its connections. */
export async function warm(system: LimitsSystem, origins: string[], what: 'rest' | 'tools'): Promise<void> {
  const rule = { requests: 1_000_000, periodSeconds: 60 };
  const client = what === 'rest' ? restClient(await system.createOrganization(rule)) : toolClient(await system.createUser(rule));
  for (const origin of origins) await Promise.all(Array.from({ length: 20 }, () => client(origin)));
}

/** Clients that were refused, and come back at the reset that the refusal named. */
export interface AtReset {
  clients: number;
  admitted: number;
  faults: string[];
}

/** Many clients, each of an organization of its own, come back at their resets. */
export async function manyAtReset(system: LimitsSystem, clients: number, rule: Rule): Promise<AtReset> {
  const { apis } = system.processes;
  const all: Client[] = [];
  for (let made = 0; made < clients; made += 20) {
    const keys = Array.from({ length: Math.min(20, clients - made) }, () => system.createOrganization(rule));
    all.push(...(await Promise.all(keys)).map(restClient));
  }
  const refused: { client: Client; origin: string; answer: Answer }[] = [];
  for (let start = 0; start < all.length; start += 100) {
    const group = all.slice(start, start + 100).map((client, index) => ({ client, origin: apis[index % apis.length]! }));
    refused.push(...(await Promise.all(group.map(async (one) => ({ ...one, answer: await useUp(one.client, one.origin) })))));
  }
  const back = refused.map(async ({ client, origin, answer }) => {
    if (answer.outcome !== 'refused') return answer;
    await until(answer.reset! * 1_000);
    return client(origin);
  });
  return summary(await Promise.all(back));
}

/** Sends requests until one isn't admitted. @returns its answer */
async function useUp(client: Client, origin: string): Promise<Answer> {
  for (;;) {
    const answer = await client(origin);
    if (answer.outcome !== 'admitted') return answer;
  }
}

/** Clients of one organization, as many as its limit, come back at the reset. */
export async function oneAtReset(system: LimitsSystem, rule: Rule): Promise<AtReset> {
  const { apis } = system.processes;
  const client = restClient(await system.createOrganization(rule));
  const turn = (index: number) => client(apis[index % apis.length]!);
  const first = await Promise.all(Array.from({ length: rule.requests * 2 }, (_, index) => turn(index)));
  const resets = first.filter(({ outcome }) => outcome === 'refused').map(({ reset }) => reset!);
  await until(Math.max(...resets) * 1_000);
  return summary(await Promise.all(Array.from({ length: rule.requests }, (_, index) => turn(index))));
}

function summary(answers: Answer[]): AtReset {
  return {
    clients: answers.length,
    admitted: answers.filter(({ outcome }) => outcome === 'admitted').length,
    faults: faultsOf(answers),
  };
}

async function until(time: number): Promise<void> {
  while (Date.now() < time) await sleep(Math.max(1, time - Date.now()));
}
