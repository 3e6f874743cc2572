// Sends records, and makes organizations that hold the same ids.
import { tenant, type World } from '@crs/testing/world';
import type { RestResponse } from '@crs/testing/rest';

export const PROJECT = '11111111-2222-4333-8444-55555555555a';
export const ENTITY = '11111111-2222-4333-8444-55555555555e';
export const NDJSON = { 'content-type': 'application/x-ndjson' };
export const JSON_TYPE = { 'content-type': 'application/json' };

export const RIGHTS = ['read', 'write', 'ingest', 'delete'] as const;

export const toLines = (records: unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** An organization with a user and keys, each with one right, and `all` with all. */
export interface Sender {
  id: string;
  keys: Record<(typeof RIGHTS)[number] | 'all', string>;
}

/** Creates an organization. @param settings its own */
export async function createSender(world: World, name: string, settings: object = {}): Promise<Sender> {
  const id = tenant(name);
  const rate_limit = { requests: 100_000, period_seconds: 60 };
  await world.load([
    { type: 'organization', id, name, write_surface: true, rate_limit, ...settings },
    { type: 'user', organization: id, email: 'ann@acme.example', name: 'Ann' },
  ]);
  const keys = { all: await world.createKey(id, { rights: [...RIGHTS] }) } as Sender['keys'];
  for (const right of RIGHTS) keys[right] = await world.createKey(id, { rights: [right] });
  return { id, keys };
}

/** Sends records, or the text of a body. @param query such as `?check=true` */
export function sendRecords(
  world: Pick<World, 'rest'>,
  key: string,
  records: unknown[] | string,
  query = '',
): Promise<RestResponse> {
  const body = typeof records === 'string' ? records : toLines(records);
  return world.rest(`/v1/records${query}`, { method: 'POST', key, headers: NDJSON, body });
}

export const callOf = async (world: World, { keys }: Sender, callId: string) =>
  (await world.rest(`/v1/calls/${callId}`, { key: keys.read })).json as Record<string, unknown>;
