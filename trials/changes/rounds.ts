/** The trial of the change feed: rounds of concurrent imports with a kill in each, and a comparison of the followers' copies after it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { PROCESS_NAMES } from '@crs/testing/processes';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { say } from '../faults/clients.ts';
import { startFaultySystem, victimOf, type FaultySystem, type Part } from '../faults/system.ts';
import { Follower, keyOf, TYPES, type PageSize } from './follower.ts';
import { FIRST_RECORDS, ORGANIZATION, startWriters } from './writers.ts';

const SIZES: PageSize[] = [
  { limit: 1, details: true, types: TYPES },
  { limit: 7, details: true, types: TYPES },
  { limit: 50, details: true, types: TYPES },
  { limit: 1_000, details: false, types: TYPES },
];

/** The components that are killed in every round of the long form. */
export const ALL: readonly Part[] = [...PROCESS_NAMES, 'postgres'];

export interface Round {
  victims: readonly Part[];
  /** How long writers and followers work before and after the kill (milliseconds). */
  workMs: number;
}

/**
 * Lets followers with four page sizes keep copies while eight writers work, and kills components meanwhile. After each round, the copies must equal the
 * details. @returns a sentence for each violation
 */
export async function followRounds(rounds: Round[], random: () => number): Promise<string[]> {
  const system = await startFaultySystem({ relays: true });
  try {
    const { admin } = system.processes;
    const operator = connect({ addresses: admin, credential: OPERATOR_CREDENTIAL });
    await load(operator, FIRST_RECORDS);
    const key = await createKey(operator, ORGANIZATION);
    operator.close();
    const send = (path: string) =>
      fetch(`${system.processes.api}${path}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(10_000),
      });
    const followers = SIZES.map((size) => new Follower(size, send));
    const faults: string[] = [];
    for (const [index, round] of rounds.entries()) {
      const found = await followRound(system, round, followers, send, random);
      for (const fault of found) faults.push(`round ${index + 1}: ${fault}`);
      say(`round ${index + 1} (${round.victims.join(', ')}): ${found.length} faults`);
    }
    return faults;
  } finally {
    await system.stop();
  }
}

async function followRound(
  system: FaultySystem,
  { victims, workMs }: Round,
  followers: Follower[],
  send: (path: string) => Promise<Response>,
  random: () => number,
): Promise<string[]> {
  const writers = startWriters(system.processes.admin, random);
  const pages = followers.reduce((sum, each) => sum + each.pages, 0);
  for (const follower of followers) follower.start();
  await sleep(workMs * (0.5 + random()));
  await Promise.all(victims.map(async (victim) => victimOf(system, victim)?.kill()));
  // PostgreSQL is started first, because the services are ready only once it is.
  if (victims.includes('postgres')) await system.postgres.start();
  const services = victims.filter((victim) => victim !== 'postgres');
  await Promise.all(services.map(async (victim) => victimOf(system, victim)?.start()));
  await sleep(workMs);
  const imports = await writers.stop();
  // A gateway may still render details with settings that are up to a second old.
  await Promise.all([sleep(1_100), ...followers.map((follower) => follower.finish())]);
  const details = await readRecords(send);
  const read = followers.reduce((sum, each) => sum + each.pages, 0) - pages;
  say(`  ${imports} imports, ${read} pages, ${details.size} records`);
  return followers.flatMap((follower) =>
    [...follower.faults.splice(0), ...follower.compare(details)].map((each) => `pages of ${follower.size.limit}: ${each}`),
  );
}

type Send = (path: string) => Promise<Response>;

/** Reads the calls, projects and entities. @returns the JSON of each by its key in a copy */
async function readRecords(send: Send): Promise<Map<string, string>> {
  const projects = await readList(send, 'projects', (item) => keyOf('project', item['project_id']!));
  const entities = await readList(send, 'entities', (item) => keyOf('entity', item['entity_id']!));
  return new Map([...(await readDetails(send)), ...projects, ...entities]);
}

/** Reads each call by `GET /v1/calls/{call_id}`. @returns its JSON by id */
export async function readDetails(send: Send): Promise<Map<string, string>> {
  const list = await get(send, '/v1/calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z&per_page=200');
  const ids = (JSON.parse(list) as { data: { call_id: string }[] }).data.map(({ call_id: id }) => id);
  return new Map(await Promise.all(ids.map(async (id) => [id, await get(send, `/v1/calls/${id}`)] as const)));
}

/** Reads a list, which fits on one page. @returns the JSON of each item by its key */
async function readList(send: Send, name: string, key: (item: Record<string, string>) => string): Promise<[string, string][]> {
  const list = JSON.parse(await get(send, `/v1/${name}?limit=1000`)) as { data: Record<string, string>[] };
  return list.data.map((item) => [key(item), JSON.stringify(item)]);
}

/** Sends a request until it succeeds. @returns the body */
async function get(send: Send, path: string): Promise<string> {
  for (;;) {
    const response = await send(path).catch(() => undefined);
    if (response?.status === 200) return response.text();
    await sleep(50);
  }
}
