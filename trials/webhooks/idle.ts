/** The CPU time that idle endpoints cost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, statOf } from '@crs/testing/proc';
import { openSession } from '@crs/testing/sql';
import { say } from '../faults/clients.ts';
import { organizationLine, startWebhookSystem, type WebhookSystem } from './system.ts';

const PER_ORGANIZATION = 20;
const MEASURE_MS = 120_000;
/** V8 and autovacuum clean up for minutes after work. */
const WARM_UP_MS = 180_000;

export async function runIdle(endpoints = 1_000): Promise<string[]> {
  const system = await startWebhookSystem();
  try {
    const organizations = Array.from({ length: Math.ceil(endpoints / PER_ORGANIZATION) }, (_, i) => `idle-${i}`);
    await system.load(organizations.map(organizationLine));
    await system.load(organizations.map((organization) => ({ type: 'call', organization, id: 'c' })));
    // One after the other in an organization, whose slots concurrent requests would contend for.
    await Promise.all(
      organizations.map(async (organization, index) => {
        const count = Math.min(PER_ORGANIZATION, endpoints - index * PER_ORGANIZATION);
        for (let i = 0; i < count; i++) await system.createEndpoint(organization, `${organization}-${i}`);
      }),
    );
    await waitUntilIdle(system);
    say('the endpoints are idle');
    const on = await cores(system);
    await system.processes.kill('webhooks');
    const off = await cores(system);
    for (const [name, share] of on) say(`${name}: ${percent(share)}, without webhooks ${percent(off.get(name) ?? 0)}`);
    const cost = sum(on) - sum(off);
    say(`${endpoints} idle endpoints: ${percent(cost)} of a core`);
    return cost > 0.01 ? [`${endpoints} idle endpoints cost ${percent(cost)} of a core`] : [];
  } finally {
    await system.stop();
  }
}

/** Webhooks costs nothing elsewhere. What the other services use shows how busy the machine is. */
const CONCERNED = ['webhooks', 'auth', 'calls', 'postgres'];
const sum = (shares: Map<string, number>) => CONCERNED.reduce((total, name) => total + (shares.get(name) ?? 0), 0);
const percent = (share: number) => `${(100 * share).toFixed(2)} %`;

/** Measures the share of a core that each service and PostgreSQL use. */
async function cores({ processes, databaseUrl }: WebhookSystem): Promise<Map<string, number>> {
  await sleep(WARM_UP_MS);
  const postmaster = await postmasterOf(databaseUrl);
  const read = () => {
    const seconds = [...processes.pids].map(([name, pid]) => [name, cpuSeconds([pid])] as const);
    return new Map([...seconds, ['postgres', cpuSeconds([postmaster, ...childrenOf(postmaster)])]]);
  };
  const before = read();
  await sleep(MEASURE_MS);
  return new Map([...read()].map(([name, seconds]) => [name, ((seconds - (before.get(name) ?? 0)) * 1000) / MEASURE_MS]));
}

const cpuSeconds = (pids: number[]) => pids.reduce((total, pid) => total + (statOf(pid)?.cpuSeconds ?? 0), 0);

/** Waits until each endpoint was looked at, and compared with the heads of feeds and the versions of settings, which happens once a minute. */
async function waitUntilIdle({ databaseUrl }: WebhookSystem): Promise<void> {
  const session = await openSession(databaseUrl);
  const busy = 'select 1 from webhooks.due where due_at is not null or feed_position < 0 or settings_version < 0 limit 1';
  while ((await session.query(busy)).length > 0) await sleep(1_000);
  // Otherwise autovacuum would do it while the idle system is measured.
  await session.query('vacuum analyze');
  await session.close();
}

async function postmasterOf(databaseUrl: string): Promise<number> {
  const session = await openSession(databaseUrl);
  const [row] = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  const parent = statOf(row.pid)!.parent;
  await session.close();
  return parent;
}
