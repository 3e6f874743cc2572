/** Producers that merge their properties of random calls, and remember what they were told is stored. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '@crs/crs/connection';
import { loader } from '@crs/testing/load';
import { CALLS, drawChange, merge, type Producer, type Properties, type Random } from './records.ts';

/** An organization that producers write to. */
export interface Target {
  organization: string;
  /** URL of the API. */
  api: string;
  key: string;
  operator: Connection;
  /** What an export must write of each call, by id, according to the acknowledged changes. */
  expected: Map<string, Properties>;
}

/** What a producer did. */
export interface Tally {
  producer: string;
  /** Requests with a definite response. */
  requests: number;
  /** Requests that were sent again, because they failed. */
  repeated: number;
  /** Acknowledged changes of calls. */
  changes: number;
}

interface Change {
  id: string;
  properties: Properties;
}

/** Longer than the longest deadline of a request, so that every response is the service's own. */
const TIMEOUT_MS = 40_000;
const PAUSE_MS = 20;
const MAX_LINES = 20;

/** Sends random changes one request after the other, until `isStopped`. */
export async function produce(
  target: Target,
  producer: Producer,
  random: Random,
  { isStopped, tally, faults }: { isStopped: () => boolean; tally: Tally; faults: string[] },
): Promise<void> {
  const importAll = loader(target.operator);
  while (!isStopped()) {
    const isSingle = !producer.imports && random() < 0.5;
    const changes = Array.from({ length: isSingle ? 1 : 1 + Math.floor(random() * MAX_LINES) }, () => ({
      // Low numbers are more frequent, so that producers often change the same call at the same time.
      id: `call-${Math.floor(random() ** 3 * CALLS)}`,
      properties: drawChange(producer, target.organization, random),
    }));
    const send = () =>
      producer.imports ? importLines(target, importAll, changes) : isSingle ? patch(target, changes[0]!) : post(target, changes);
    let problem = await send();
    for (; problem === 'repeat'; problem = await send()) {
      tally.repeated++;
      await sleep(50);
    }
    tally.requests++;
    if (problem === undefined) {
      tally.changes += changes.length;
      for (const { id, properties } of changes) target.expected.set(id, merge(target.expected.get(id)!, properties));
    } else {
      faults.push(`${producer.name}: ${problem}`);
    }
    await sleep(PAUSE_MS * (0.5 + random()));
  }
}

/** Undefined: all changes are stored. `repeat`: the response doesn't tell. Otherwise a sentence about a wrong response. */
type Outcome = string | undefined;

async function patch({ api, key }: Target, { id, properties }: Change): Promise<Outcome> {
  const path = `/v1/calls/${id}`;
  const response = await request(`${api}${path}`, key, 'PATCH', 'application/json', JSON.stringify(properties));
  if (response === 'repeat') return response;
  return response.status === 200 ? undefined : `PATCH ${path} got ${response.status}: ${response.text}`;
}

async function post({ api, key }: Target, changes: Change[]): Promise<Outcome> {
  const body = changes.map(({ id, properties }) => JSON.stringify({ type: 'call', id, merge: true, ...properties })).join('\n');
  const response = await request(`${api}/v1/records`, key, 'POST', 'application/x-ndjson', body);
  if (response === 'repeat') return response;
  const { accepted, unchanged } = JSON.parse(response.text) as { accepted?: number; unchanged?: number };
  const isStored = response.status === 200 && accepted! + unchanged! === changes.length;
  return isStored ? undefined : `POST /v1/records of ${changes.length} lines got ${response.status}: ${response.text}`;
}

async function request(
  url: string,
  key: string,
  method: string,
  type: string,
  body: string,
): Promise<{ status: number; text: string } | 'repeat'> {
  try {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type };
    const response = await fetch(url, { method, headers, body, signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = await response.text();
    return response.status >= 500 ? 'repeat' : { status: response.status, text };
  } catch {
    return 'repeat';
  }
}

async function importLines({ organization }: Target, importAll: ReturnType<typeof loader>, changes: Change[]): Promise<Outcome> {
  const lines = changes.map(({ id, properties }) => ({ type: 'call', organization, id, merge: true, ...properties }));
  try {
    const { refused } = await importAll(lines);
    return refused.length === 0 ? undefined : `crs import refused ${refused.join('; ')}`;
  } catch {
    return 'repeat';
  }
}
