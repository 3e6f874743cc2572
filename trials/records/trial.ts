/** The trial of records from outside: programs that others wrote send a file through a proxy of faults while components are killed. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Connection } from '@crs/crs/connection';
import { createKey } from '@crs/testing/credentials';
import { startProxy, type Proxy } from '@crs/testing/fault-proxy';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import { say } from '../faults/clients.ts';
import { startFaultySystem, type FaultySystem } from '../faults/system.ts';
import { compareExport, countAtApi, exportCalls } from './compare.ts';
import { breakComponents, interfere, type Interference } from './faults.ts';
import { LAST, PROJECT, USER, writeLines, type Expected } from './lines.ts';
import { start, type Producer, type Programs } from './producers.ts';

const OTHER = 'other';
const BOUNDLESS = 1_000_000_000;
/** When all producers must be done. */
const LIMIT_MS = 90 * 60_000;
/** A producer is killed after as many requests as a fifth of its file needs. */
const LINES_BEFORE_KILL = 5_000;
/** Without a request for so long after the last line, a producer that doesn't end has sent everything. */
const QUIET_MS = 6_000;

export interface TrialOptions {
  producers: Producer[];
  programs: Programs;
  lines: number;
  random: () => number;
}

/** A producer with its file and its proxy. */
interface Sender {
  producer: Producer;
  directory: string;
  expected: Expected;
  proxy: Proxy;
  interference: Interference;
  /** A key with all rights that the trial needs to read; the producer's can only send. */
  readKey: string;
  environment: Record<string, string>;
  seconds: number;
}

/** Runs the trial, and prints its table. @returns a sentence for each fault */
export async function sendThroughFaults(options: TrialOptions): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'crs-records-'));
  const system = await startFaultySystem({ relays: true });
  const operator = connect({ addresses: system.processes.admin, credential: OPERATOR_CREDENTIAL });
  const senders: Sender[] = [];
  try {
    for (const producer of options.producers) senders.push(await prepare(system, operator, producer, directory, options));
    const others = await fillOther(operator);
    const breaking = breakComponents(system, options.random);
    const late = await Promise.all(senders.map((sender) => send(system, sender, options.programs)));
    const broken = await breaking.stop();
    say(`\nbroken: ${[...broken].map(([name, count]) => `${name} ${count}`).join(', ')}\n`);
    const faults = [...late.flat(), ...(await compareAll(system, operator, senders))];
    const same = JSON.stringify(await exportCalls(operator, OTHER)) === JSON.stringify(others);
    say(`the ${others.length} calls of another organization with the same ids are ${same ? 'unchanged' : 'CHANGED'}`);
    if (!same) faults.push('the calls of another organization changed');
    if (faults.length === 0) await rm(directory, { recursive: true });
    else say(`logs of the producers: ${directory}`);
    return faults;
  } finally {
    operator.close();
    for (const { proxy } of senders) await proxy.close();
    await system.stop();
  }
}

async function prepare(
  { processes }: FaultySystem,
  operator: Connection,
  producer: Producer,
  parent: string,
  { lines, random }: TrialOptions,
): Promise<Sender> {
  const directory = join(parent, producer.name);
  await mkdir(directory);
  const file = join(directory, 'records.ndjson');
  const expected = await writeLines(file, { lines, random, changes: producer.keepsOrder });
  await load(operator, organizationRecords(producer.name));
  const key = await createKey(operator, producer.name, { rights: ['ingest', 'delete'], networks: ['127.0.0.0/8'] });
  const proxy = await startProxy(processes.api);
  return {
    producer,
    directory,
    expected,
    proxy,
    interference: interfere(proxy, random),
    readKey: await createKey(operator, producer.name, { rights: ['read'] }),
    environment: {
      CRS_API_KEY: key,
      CRS_BASE_URL: proxy.baseUrl,
      RECORDS: file,
      REFUSED: join(directory, 'refused.ndjson'),
    },
    seconds: 0,
  };
}

function organizationRecords(organization: string): object[] {
  const rate_limit = { requests: BOUNDLESS, period_seconds: 60 };
  return [
    { type: 'organization', id: organization, name: organization, rate_limit, delete_limit: BOUNDLESS },
    { type: 'user', organization, email: USER, name: 'Ann' },
    { type: 'project', organization, id: PROJECT, name: 'Records' },
  ];
}

/** Imports calls with ids of the file into another organization. @returns its calls */
async function fillOther(operator: Connection) {
  const ids = [LAST, ...Array.from({ length: 1_000 }, (_, number) => `call-${number}`)];
  const calls = ids.map((id) => ({ type: 'call', organization: OTHER, id, summary: 'Of another organization' }));
  await load(operator, [...organizationRecords(OTHER), ...calls]);
  return exportCalls(operator, OTHER);
}

/** Lets a producer send its file, and kills it once on the way. @returns a sentence if it isn't done in time */
async function send({ processes }: FaultySystem, sender: Sender, programs: Programs): Promise<string[]> {
  const { producer, directory, environment, proxy, expected } = sender;
  const started = performance.now();
  const command = producer.command(programs, directory);
  const first = start(command, directory, environment);
  await until(() => !first.isRunning() || proxy.exchanges.length > expected.size / LINES_BEFORE_KILL, started + LIMIT_MS);
  first.signal('SIGKILL');
  await first.ended;
  const second = start(command, directory, environment);
  const hasSentAll = async () => hasGoneQuiet(sender) && (await isStored(processes.api, sender));
  const isInTime = await until(producer.ends ? () => !second.isRunning() : hasSentAll, started + LIMIT_MS);
  second.signal(isInTime ? 'SIGTERM' : 'SIGKILL');
  await second.ended;
  sender.seconds = (performance.now() - started) / 1_000;
  say(`${producer.name} is done after ${sender.seconds.toFixed(0)} s`);
  return isInTime ? [] : [`${producer.name} wasn't done in time`];
}

/** Waits for a condition. @returns false if it isn't met in time */
async function until(isMet: () => boolean | Promise<boolean>, deadline: number): Promise<boolean> {
  while (!(await isMet())) {
    if (performance.now() > deadline) return false;
    await sleep(100);
  }
  return true;
}

const hasGoneQuiet = ({ proxy, interference }: Sender) =>
  proxy.exchanges.at(-1)?.status === 200 && performance.now() - interference.lastAt > QUIET_MS;

async function isStored(api: string, { readKey }: Sender): Promise<boolean> {
  const headers = { authorization: `Bearer ${readKey}` };
  const response = await fetch(`${api}/v1/calls/${LAST}`, { headers }).catch(() => undefined);
  return response?.status === 200;
}

async function compareAll({ processes }: FaultySystem, operator: Connection, senders: Sender[]): Promise<string[]> {
  const faults: string[] = [];
  say('producer     calls of file   stored    lost  different  surplus   listed  followed  requests  seconds');
  for (const { producer, expected, proxy, interference, readKey, seconds } of senders) {
    const { stored, lost, different, surplus } = await compareExport(operator, producer.name, expected);
    const { listed, followed } = await countAtApi(processes.api, readKey);
    const row: [number, number][] = [
      [expected.size, 15],
      [stored, 9],
      [lost.length, 8],
      [different.length, 11],
      [surplus.length, 9],
      [listed, 9],
      [followed, 10],
      [proxy.exchanges.length, 10],
      [Math.round(seconds), 9],
    ];
    say(producer.name.padEnd(11) + row.map(([value, width]) => String(value).padStart(width)).join(''));
    say(`             ${[...interference.counts].map(([name, count]) => `${name} ${count}`).join(', ')}`);
    for (const [what, ids] of Object.entries({ lost, different, surplus })) {
      if (ids.length > 0) faults.push(`${producer.name}: ${ids.length} calls are ${what}: ${ids.slice(0, 5).join(', ')}`);
    }
    if (listed !== expected.size || followed !== expected.size) {
      faults.push(`${producer.name}: ${listed} calls are listed and ${followed} followed`);
    }
  }
  return faults;
}
