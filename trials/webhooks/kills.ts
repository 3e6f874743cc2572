/** Messages while services, PostgreSQL and receivers are killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '@crs/testing/credentials';
import { say } from '../faults/clients.ts';
import { victimOf, type Part } from '../faults/system.ts';
import type { Change } from './receivers.ts';
import { organizationLine, startWebhookSystem, type WebhookSystem } from './system.ts';

const ORGANIZATIONS = ['first', 'second'];
const ENDPOINTS = 10;
const CALLS = 40;
const VICTIMS: Part[] = ['webhooks', 'calls', 'auth', 'postgres', 'webhooks'];
/** Between two kills. Longer than the wait for the retries that a kill causes. */
const WORK_MS = 10_000;
const SETTLE_MS = 120_000;

export async function runKills(deliveries = 10_000): Promise<string[]> {
  const system = await startWebhookSystem();
  try {
    await system.load(ORGANIZATIONS.map(organizationLine));
    const keys = await Promise.all(ORGANIZATIONS.map((id) => createKey(system.operator, id)));
    const cursors = await Promise.all(keys.map((key) => follow(system, key).then(({ cursor }) => cursor)));
    for (const organization of ORGANIZATIONS)
      for (let i = 0; i < ENDPOINTS; i++) await system.createEndpoint(organization, `${organization}-${i}`);
    await letFail(system, deliveries);
    const faults: string[] = [];
    for (const [index, organization] of ORGANIZATIONS.entries()) {
      const { last } = await follow(system, keys[index], cursors[index]);
      for (let i = 0; i < ENDPOINTS; i++) {
        const path = `${organization}-${i}`;
        const found = await settle(system, path, last);
        faults.push(...found.map((fault) => `${path}: ${fault}`));
      }
    }
    const python = await system.python?.finish();
    faults.push(...(python?.faults ?? []));
    say(
      `${total(system)} deliveries; ${python ? `${python.verified} verified by Python` : 'none verified by Python: set PYTHON'}`,
    );
    return faults;
  } finally {
    await system.stop();
  }
}

const total = ({ receivers }: WebhookSystem) =>
  [...receivers.byPath.values()].reduce((sum, { deliveries }) => sum + deliveries, 0);

/** Imports changes, and kills one component after the other, until there were enough deliveries. */
async function letFail(system: WebhookSystem, deliveries: number): Promise<void> {
  for (const receiver of system.receivers.byPath.values())
    receiver.respond = (response) => void response.writeHead(Math.random() < 0.02 ? 503 : 204).end();
  let round = 0;
  let stopped = false;
  const writers = ORGANIZATIONS.map(async (organization) => {
    for (let n = 0; !stopped; n++) {
      const id = `call-${Math.floor(Math.random() * CALLS)}`;
      const deleted = Math.random() < 0.1;
      const line = { type: 'call', organization, id, ...(deleted ? { deleted } : { segment: String(n) }) };
      await system.load([line]).catch(() => sleep(200));
      await sleep(20);
    }
  });
  while (total(system) < deliveries) {
    await sleep(WORK_MS);
    const name = VICTIMS[round++ % VICTIMS.length];
    const victim = victimOf(system, name)!;
    await victim.kill();
    if (round % 2 === 0) system.receivers.stop();
    await sleep(500);
    if (round % 2 === 0) await system.receivers.start();
    await victim.start();
    say(`${name} killed: ${total(system)} deliveries`);
  }
  stopped = true;
  await Promise.all(writers);
  for (const receiver of system.receivers.byPath.values()) receiver.respond = (response) => void response.writeHead(204).end();
}

/** Reads all changes after a cursor by REST. @returns the last one of each call, and the cursor */
async function follow(system: WebhookSystem, key: string, from?: string): Promise<{ last: Map<string, Change>; cursor: string }> {
  const last = new Map<string, Change>();
  let cursor = from;
  for (;;) {
    const query = cursor === undefined ? '' : `&cursor=${cursor}`;
    const response = await fetch(`${system.processes.api}/v1/changes?limit=1000${query}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    if (response.status !== 200) {
      await sleep(100);
      continue;
    }
    const page = (await response.json()) as { data: Change[]; next_cursor: string; has_more: boolean };
    for (const change of page.data) last.set(change.call_id ?? '', change);
    cursor = page.next_cursor;
    if (!page.has_more) return { last, cursor };
  }
}

/** Waits until a receiver has the last change of each call. @returns what is missing or wrong */
async function settle({ receivers }: WebhookSystem, path: string, expected: Map<string, Change>): Promise<string[]> {
  const receiver = receivers.byPath.get(path)!;
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const faults = receiver.faults.splice(0);
    const last = receiver.lastChanges();
    const missing = [...expected].filter(
      ([id, { type, changed_at: at }]) => last.get(id)?.type !== type || last.get(id)?.changed_at !== at,
    );
    faults.push(...receiver.faults.splice(0));
    if (faults.length > 0) return faults;
    if (missing.length === 0) return [];
    if (performance.now() > until) return missing.map(([id]) => `the last change of ${id} did not arrive`);
    await sleep(500);
  }
}
