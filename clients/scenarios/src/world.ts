import { startProcessWorld, type ProcessWorld } from '@crs/testing/process-world';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { startProxy, type Proxy } from '@crs/testing/fault-proxy';

/** The running system with one organization, behind a proxy that injects faults. */
export interface ClientWorld {
  world: ProcessWorld;
  proxy: Proxy;
  key: string;
  /** A key of an organization that may send 5 requests in 2 s. */
  scarceKey: string;
  /** Imports records of the organization. */
  load(records: object[]): Promise<void>;
  /** Sends a GET request to the service, not through the proxy. @returns the body of a 200 */
  ask(path: string): Promise<string>;
  /** Prunes all deletions from the feeds, as the service does after 30 days. */
  pruneDeletions(): Promise<void>;
  close(): Promise<void>;
}

export const RANGE = { start_date: '2025-01-01T00:00:00Z', end_date: '2026-01-01T00:00:00Z' };
export const LEAD = 'ann@acme.example';
const CALLS = 23;

/** An import record of a call. The summary is long enough for the proxy to cut a body within it. */
export const call = (id: string, more: object = {}) => ({
  type: 'call',
  organization: 'acme',
  id,
  created_at: '2025-03-01T00:00:00Z',
  duration_minutes: 12.5,
  call_type: 'interview',
  summary: `Summary of ${id}: "quoted", \\ and \u{1f600}. ${'More was said. '.repeat(20)}`,
  rating: 4,
  expert: { name: `Expert of ${id}` },
  transcript: [{ speaker: 'Ann', start_seconds: 0.5, text: 'Shall we start?' }],
  ...more,
});

export async function startClientWorld(): Promise<ClientWorld> {
  const world = await startProcessWorld();
  const { api } = world.processes;
  const proxy = await startProxy(api);
  await load(world.operator, [
    {
      type: 'organization',
      id: 'acme',
      name: 'Acme',
      write_surface: true,
      rate_limit: { requests: 1_000_000, period_seconds: 60 },
    },
    { type: 'organization', id: 'scarce', name: 'Scarce', rate_limit: { requests: 5, period_seconds: 2 } },
    { type: 'user', organization: 'acme', email: LEAD, name: 'Ann' },
    { type: 'billing_office', organization: 'acme', name: 'London', is_default: true },
    { type: 'billing_office', organization: 'acme', name: 'Berlin' },
    ...Array.from({ length: CALLS }, (_, n) =>
      call(`call-${n}`, { created_at: new Date(Date.UTC(2025, 2, 1, 0, n)).toISOString() }),
    ),
    ...Array.from({ length: 8 }, (_, n) => call(`scarce-${n}`, { organization: 'scarce' })),
  ]);
  const key = await createKey(world.operator, 'acme');
  return {
    world,
    proxy,
    key,
    scarceKey: await createKey(world.operator, 'scarce'),
    load: (records) => load(world.operator, records),
    ask: async (path) => {
      const response = await fetch(`${api}/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return response.text();
    },
    pruneDeletions: async () => {
      for (const service of ['calls', 'projects', 'entities']) {
        await world.database.query(`update ${service}.feeds set pruned = position`);
        await world.database.query(`delete from ${service}.changes where deleted`);
      }
    },
    close: async () => {
      await proxy.close();
      await world.close();
    },
  };
}
