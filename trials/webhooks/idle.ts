/** The CPU time that idle endpoints cost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, statOf } from '@crs/testing/proc';
import { openSession } from '@crs/testing/sql';
import { say } from '../faults/clients.ts';
import { organizationLine, startWebhookSystem, type WebhookSystem } from './system.ts';

const PER_ORGANIZATION = 20;
const MEASURE_MS = 30_000;
const WARM_UP_MS = 5_000;

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
    say(`${endpoints} idle endpoints: ${(100 * on).toFixed(2)} % of a core, without webhooks ${(100 * off).toFixed(2)} %`);
    return on - off > 0.01 ? [`${endpoints} idle endpoints cost ${(100 * (on - off)).toFixed(2)} % of a core`] : [];
  } finally {
    await system.stop();
  }
}

/** Measures the CPU time of all services and of PostgreSQL per second. */
async function cores({ processes, databaseUrl }: WebhookSystem): Promise<number> {
  await sleep(WARM_UP_MS);
  const postmaster = await postmasterOf(databaseUrl);
  const read = () =>
    [...processes.pids.values(), postmaster, ...childrenOf(postmaster)].reduce(
      (sum, pid) => sum + (statOf(pid)?.cpuSeconds ?? 0),
      0,
    );
  const before = read();
  await sleep(MEASURE_MS);
  return ((read() - before) * 1000) / MEASURE_MS;
}

/** Waits until each endpoint was looked at, and compared with the heads of feeds and the versions of settings, which happens once a minute. */
async function waitUntilIdle({ databaseUrl }: WebhookSystem): Promise<void> {
  const session = await openSession(databaseUrl);
  const busy = 'select 1 from webhooks.due where due_at is not null or feed_position < 0 or settings_version < 0 limit 1';
  while ((await session.query(busy)).length > 0) await sleep(1_000);
  await session.close();
}

async function postmasterOf(databaseUrl: string): Promise<number> {
  const session = await openSession(databaseUrl);
  const [row] = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  const parent = statOf(row.pid)!.parent;
  await session.close();
  return parent;
}
