/** Measurements of rate limits without faults: how many requests each window admits, and who is admitted at its reset. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Rule } from '@crs/kit/limits/rule';
import { offer, restClient, toolClient } from './client.ts';
import type { LimitsSystem } from './system.ts';
import { faultsOf, windowsOf } from './windows.ts';

/** Sends ten times the limit, evenly over all gateways, for this many windows. @returns how many requests each window admitted and refused */
export async function exactness(system: LimitsSystem, what: 'rest' | 'tools', rule: Rule, windows: number) {
  const { processes } = system;
  const rest = what === 'rest';
  const client = rest ? restClient(await system.createOrganization(rule)) : toolClient(await system.createUser(rule));
  const origins = rest ? processes.apis : processes.toolAddresses.map((address) => `http://${address}`);
  await warm(system, origins, what);
  const load = offer(client, origins, (10 * rule.requests) / rule.periodSeconds);
  // A window opens with the first request after the previous window has closed, so the windows drift.
  await sleep(windows * (rule.periodSeconds * 1_000 + 50));
  const responses = await load.stop();
  const allWindows = windowsOf(responses, rule.periodSeconds * 1_000);
  // Without the last window, which may be incomplete when the load ends.
  const completeWindows = allWindows.slice(0, -1);
  const admitted = completeWindows.map((window) => window.admitted);
  return {
    windows: completeWindows.length,
    admittedMin: Math.min(...admitted),
    admittedMax: Math.max(...admitted, allWindows.at(-1)?.admitted ?? 0),
    limit: rule.requests,
    refused: responses.filter(({ outcome }) => outcome === 'refused').length,
    refusedBelow: completeWindows.reduce((sum, { refusedBelow }) => sum + refusedBelow, 0),
    faults: faultsOf(responses),
  };
}

/** Sends some requests as a warm-up, so that each process loads its code and opens its connections. */
export async function warm(system: LimitsSystem, origins: string[], what: 'rest' | 'tools'): Promise<void> {
  const rule = { requests: 1_000_000, periodSeconds: 60 };
  const client = what === 'rest' ? restClient(await system.createOrganization(rule)) : toolClient(await system.createUser(rule));
  for (const origin of origins) await Promise.all(Array.from({ length: 20 }, () => client(origin)));
}

/** Lets as many clients of an organization as its limit allows retry at the reset time of their refusals. */
export async function atReset(system: LimitsSystem, rule: Rule): Promise<{ admitted: number; faults: string[] }> {
  const { apis } = system.processes;
  const client = restClient(await system.createOrganization(rule));
  const send = (index: number) => client(apis[index % apis.length]!);
  const first = await Promise.all(Array.from({ length: rule.requests * 2 }, (_, index) => send(index)));
  const reset = Math.max(...first.filter(({ outcome }) => outcome === 'refused').map((response) => response.reset!)) * 1_000;
  while (Date.now() < reset) await sleep(Math.max(1, reset - Date.now()));
  const responses = await Promise.all(Array.from({ length: rule.requests }, (_, index) => send(index)));
  return { admitted: responses.filter(({ outcome }) => outcome === 'admitted').length, faults: faultsOf(responses) };
}
