// Services as processes that tests kill, and a client that retries the creation of a project until it succeeds.

import { setTimeout as sleep } from 'node:timers/promises';
import { startProcessWorld, type ProcessWorld } from '@crs/testing/process-world';
import type { ProcessName } from '@crs/testing/processes';

/** A test environment of processes, with the API key of an organization that may create projects. */
export interface FaultyWorld extends ProcessWorld {
  key: string;
}

export const PEOPLE = ['ann', 'bob', 'cid', 'dan'].map((name) => `${name}@acme.example`);

export async function startFaultyWorld(): Promise<FaultyWorld> {
  const world = await startProcessWorld(['rate-limit', 'auth', 'projects', 'api-gateway']);
  const { operator } = world;
  const { refused } = await world.tryLoad([
    { type: 'organization', id: 'acme', write_surface: true, rate_limit: { requests: 1_000_000, period_seconds: 60 } },
    { type: 'billing_office', organization: 'acme', name: 'London', is_default: true },
    ...PEOPLE.map((email) => ({ type: 'user', organization: 'acme', email, name: email })),
  ]);
  if (refused.length > 0) throw new Error(refused.join('; '));
  const { secret } = await operator.auth.createKey(
    { label: '', rights: [], networks: [], expiresInSeconds: 0 },
    await operator.operator('acme'),
  );
  return { ...world, key: secret };
}

export interface Body {
  name: string;
  lead_email: string;
  member_emails: string[];
}

/** A request body, unique by its name. */
export function bodyOf(name: string, n = 0): Body {
  const [lead = '', ...members] = PEOPLE.map((_, i) => PEOPLE[(i + n) % PEOPLE.length]!);
  return { name, lead_email: lead, member_emails: members.slice(0, 1 + (n % 3)) };
}

export interface Created {
  key: string;
  body: Body;
  /** The project in the 201 response, or undefined if the client gave up before. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read any field of it
  answer: any;
  replayed: boolean;
  /** The status of each attempt, 0 if the connection failed. */
  attempts: number[];
}

/** The client waits at most this long before it retries, even if Retry-After is longer. */
const LONGEST_PAUSE_MS = 300;

/** Sends the request until the project is created or `giveUp` aborts. @throws Refused for an error response without Retry-After */
export async function create(
  { processes, key }: FaultyWorld,
  idempotencyKey: string,
  body: Body,
  giveUp?: AbortSignal,
): Promise<Created> {
  const attempts: number[] = [];
  for (;;) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
    const signal = AbortSignal.any([AbortSignal.timeout(15_000), ...(giveUp ? [giveUp] : [])]);
    try {
      const response = await fetch(`${processes.api}/v1/projects`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal,
      });
      const text = await response.text();
      attempts.push(response.status);
      if (response.status === 201) {
        return {
          key: idempotencyKey,
          body,
          answer: JSON.parse(text),
          replayed: response.headers.has('idempotent-replayed'),
          attempts,
        };
      }
      const wait = Number(response.headers.get('retry-after')) * 1000;
      if (!(wait > 0)) throw new Refused(`${response.status} without Retry-After: ${text}`);
      await sleep(Math.min(wait, LONGEST_PAUSE_MS));
    } catch (error) {
      if (error instanceof Refused) throw error;
      if (giveUp?.aborted) return { key: idempotencyKey, body, answer: undefined, replayed: false, attempts };
      attempts.push(0);
      await sleep(50);
    }
  }
}

/** Reads a project. Retries while restarted processes aren't connected yet. */
export async function read({ processes, key }: FaultyWorld, projectId: string): Promise<unknown> {
  for (;;) {
    const response = await fetch(`${processes.api}/v1/projects/${projectId}`, { headers: { authorization: `Bearer ${key}` } });
    const json = await response.json();
    if (response.status !== 503) return json;
    await sleep(LONGEST_PAUSE_MS);
  }
}

/** An error response that the client must not retry. */
class Refused extends Error {}

/** Expires all leases now, so that tests needn't wait 15 s for those of killed processes. A running owner keeps working. */
export async function expireLeases({ database }: FaultyWorld): Promise<void> {
  await database.query('update projects.creations set lease_until = now() where response is null');
}

/** Kills a process, starts it again, and expires the leases that it held. */
export async function restart(world: FaultyWorld, service: ProcessName): Promise<void> {
  await world.processes.kill(service);
  await world.processes.start(service);
  await expireLeases(world);
}
