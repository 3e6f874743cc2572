/** The trial of merges: rounds of concurrent producers with a kill in each, and a comparison of the store with what was acknowledged. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { connect, type Connection } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { exportLines } from '@crs/testing/export';
import { load } from '@crs/testing/load';
import { randomFrom } from '@crs/testing/random';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { Follower, type PageSize } from '../changes/follower.ts';
import { say } from '../faults/clients.ts';
import { startFaultySystem, victimOf, type FaultySystem, type Part } from '../faults/system.ts';
import { produce, type Tally, type Target } from './producers.ts';
import {
  firstCalls,
  firstRecords,
  NEIGHBOR,
  NEIGHBORS_PRODUCER,
  ORGANIZATION,
  PRODUCERS,
  type Producer,
  type Properties,
} from './records.ts';

/** What a merge of calls depends on. */
export const VICTIMS: readonly Part[] = ['calls', 'postgres', 'api-gateway', 'auth', 'rate-limit'];
const SIZES: PageSize[] = [
  { limit: 7, details: true },
  { limit: 50, details: true },
  { limit: 1_000, details: false },
];

export interface Options {
  /** The component that each round kills. */
  victims: readonly Part[];
  /** How long producers work before and after the kill (milliseconds). */
  workMs: number;
  seed: number;
}

/** An organization with its producers and followers. */
interface Tenant extends Target {
  producers: readonly Producer[];
  followers: Follower[];
  send: (path: string) => Promise<Response>;
}

export interface Result {
  tallies: Tally[];
  /** A sentence for each difference, wrong response and violation of the feed's guarantees. */
  faults: string[];
}

/**
 * Lets seven producers merge their properties of the same calls, and an eighth those of another organization with the same call ids. After each
 * round, calls must have what their producers were told is stored, and nothing else, and followers must have what the details have.
 */
export async function mergeRounds({ victims, workMs, seed }: Options): Promise<Result> {
  const system = await startFaultySystem({ relays: true });
  const operator = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
  try {
    const tenants = [
      await startTenant(system, operator, ORGANIZATION, PRODUCERS),
      await startTenant(system, operator, NEIGHBOR, [NEIGHBORS_PRODUCER]),
    ];
    const all = tenants.flatMap((tenant) => tenant.producers.map((producer) => ({ tenant, producer })));
    const lanes = all.map(({ tenant, producer }, index) => ({
      tenant,
      producer,
      random: randomFrom(seed + index + 1),
      tally: { producer: producer.name, requests: 0, repeated: 0, changes: 0 },
    }));
    const random = randomFrom(seed);
    const faults: string[] = [];
    for (const [index, victim] of victims.entries()) {
      const found: string[] = [];
      let isStopped = false;
      const working = lanes.map(({ tenant, producer, random, tally }) =>
        produce(tenant, producer, random, { isStopped: () => isStopped, tally, faults: found }),
      );
      for (const follower of tenants.flatMap(({ followers }) => followers)) follower.start();
      await sleep(workMs * (0.5 + random()));
      await victimOf(system, victim)!.kill();
      await sleep(workMs * random() * 0.5);
      await victimOf(system, victim)!.start();
      await sleep(workMs);
      isStopped = true;
      await Promise.all(working);
      for (const tenant of tenants) found.push(...(await compare(tenant)));
      faults.push(...found.map((fault) => `round ${index + 1} (${victim}): ${fault}`));
      const changes = lanes.reduce((sum, { tally }) => sum + tally.changes, 0);
      say(`round ${index + 1} (${victim}): ${changes} changes so far, ${found.length} faults`);
    }
    return { tallies: lanes.map(({ tally }) => tally), faults };
  } finally {
    operator.close();
    await system.stop();
  }
}

async function startTenant(
  { processes: { api } }: FaultySystem,
  operator: Connection,
  organization: string,
  producers: readonly Producer[],
): Promise<Tenant> {
  await untilDone(() => load(operator, firstRecords(organization)));
  const key = await untilDone(() => createKey(operator, organization, { rights: ['read', 'ingest'] }));
  const headers = { authorization: `Bearer ${key}` };
  const send = (path: string) => fetch(`${api}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
  const followers = SIZES.map((size) => new Follower(size, send));
  return { organization, api, key, operator, expected: firstCalls(organization), producers, followers, send };
}

async function compare({ organization, operator, expected, followers, send }: Tenant): Promise<string[]> {
  const found: string[] = [];
  const stored = new Map<string, Properties>();
  for (const line of (await untilDone(() => exportLines(operator, organization))) as Properties[]) {
    if (line['type'] === 'call') stored.set(String(line['id']), line);
  }
  for (const [id, record] of expected) found.push(...differences(record, stored.get(id)).map((each) => `${id}: ${each}`));
  if (stored.size !== expected.size) found.push(`${stored.size} calls in place of ${expected.size}`);
  await Promise.all(followers.map((follower) => follower.finish()));
  const details = await untilDone(() => readDetails(send));
  for (const follower of followers) {
    for (const each of [...follower.faults.splice(0), ...follower.compare(details)])
      found.push(`pages of ${follower.size.limit}: ${each}`);
  }
  return found.map((fault) => `${organization}: ${fault}`);
}

/** Reads the details of all calls. @returns the JSON of each, by id */
async function readDetails(send: (path: string) => Promise<Response>): Promise<Map<string, string>> {
  const details = new Map<string, string>();
  for (let page = 1, pages = 1; page <= pages; page++) {
    const range = 'start_date=2025-01-01T00:00:00Z&end_date=2026-01-01T00:00:00Z';
    const response = await send(`/v1/calls?${range}&expand=detail&per_page=50&page=${page}`);
    if (response.status !== 200) throw new Error(`page ${page} got ${response.status}`);
    const list = (await response.json()) as { data: { call_id: string }[]; pagination: { total_pages: number } };
    for (const call of list.data) details.set(call.call_id, JSON.stringify(call));
    pages = list.pagination.total_pages;
  }
  return details;
}

/** Components that were killed may still be reconnecting, and connections drop on a busy machine. */
async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(100);
    }
  }
}

/** @returns a sentence for each property of a call that isn't as its producer was told */
function differences(expected: Properties, stored: Properties = {}): string[] {
  const names = new Set([...Object.keys(expected), ...Object.keys(stored)]);
  return [...names]
    .filter((name) => !isDeepStrictEqual(expected[name], stored[name]))
    .map((name) => `${name} is ${JSON.stringify(stored[name])} in place of ${JSON.stringify(expected[name])}`);
}
