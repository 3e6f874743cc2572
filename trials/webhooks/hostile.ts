/** The time from a change to its message, alone and beside hostile receivers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../faults/clients.ts';
import type { Receiver, Respond } from './receivers.ts';
import { organizationLine, percentile, startWebhookSystem, type WebhookSystem } from './system.ts';

const GOOD = 20;
const HOSTILE_ORGANIZATIONS = 5;
const ENDPOINTS = 20;

const endless: Respond = (response) => {
  response.writeHead(200);
  const more = setInterval(() => response.write('x'.repeat(65_536)), 5);
  response.once('close', () => clearInterval(more));
};
const HOSTILE: Respond[] = [
  () => {},
  (response) => void setTimeout(() => response.writeHead(204).end(), 9_500).unref(),
  (response) => void response.writeHead(500).end(),
  (response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
  endless,
];

export async function runHostile(changes = 200): Promise<string[]> {
  const system = await startWebhookSystem();
  try {
    const good = Array.from({ length: GOOD }, (_, i) => `good-${i}`);
    const hostile = Array.from({ length: HOSTILE_ORGANIZATIONS }, (_, i) => `hostile-${i}`);
    await system.load([...good, ...hostile].map(organizationLine));
    const receivers = await Promise.all(good.map((organization) => system.createEndpoint(organization, organization)));
    const alone = await measure(system, good, receivers, changes);
    for (const [i, organization] of hostile.entries())
      for (let n = 0; n < ENDPOINTS; n++)
        (await system.createEndpoint(organization, `${organization}-${n}`)).respond = HOSTILE[i % HOSTILE.length]!;
    let stopped = false;
    const writer = (async () => {
      for (let n = 0; !stopped; n++) {
        await system.load(hostile.map((organization) => ({ type: 'call', organization, id: 'c', segment: String(n) })));
        await sleep(200);
      }
    })();
    await sleep(2_000);
    const beside = await measure(system, good, receivers, changes);
    stopped = true;
    await writer;
    say(`p50 / p99: alone ${describe(alone)}, beside hostile receivers ${describe(beside)}`);
    const faults: string[] = [];
    if (percentile(beside, 0.99) > 2 * percentile(alone, 0.99)) faults.push('hostile receivers more than double the p99');
    if (percentile(alone, 0.99) > 1_000) faults.push('the p99 is above 1 s');
    return faults;
  } finally {
    await system.stop();
  }
}

const describe = (times: number[]) => `${percentile(times, 0.5).toFixed(0)} / ${percentile(times, 0.99).toFixed(0)} ms`;

/** Imports one change after the other. @returns the milliseconds from each acknowledgement to its message */
async function measure(
  system: WebhookSystem,
  organizations: string[],
  receivers: Receiver[],
  changes: number,
): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < changes; n++) {
    const index = n % organizations.length;
    const receiver = receivers[index];
    const before = receiver.accepted.length;
    await system.load([{ type: 'call', organization: organizations[index], id: 'c', segment: String(Math.random()) }]);
    const acknowledgedAt = performance.now();
    while (receiver.accepted.length === before) await sleep(5);
    times.push(Math.max(0, receiver.accepted[before].at - acknowledgedAt));
    await sleep(Math.random() * 100);
  }
  return times;
}
