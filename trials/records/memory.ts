import { readFileSync } from 'node:fs';
import { connect } from '@crs/crs/connection';
import { prepareDatabase } from '@crs/local/stack';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { startTestPostgres } from '@crs/testing/postgres';
import { childrenOf } from '@crs/testing/proc';
import { startProcesses } from '@crs/testing/processes';
import { startRedis } from '@crs/testing/redis';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import { readArguments } from '../arguments.ts';
import { say } from '../faults/clients.ts';

const USAGE = `usage: node trials/records/memory.ts [--lines 2000000] [--every 100000]

Sends new calls to POST /v1/records, 1,000 in a body, for two organizations with the same ids, and prints the resident memory of each process in MiB
after every 100,000 lines. It starts the system itself, with a process for each service. Runs on Linux.

Exits with 1 where calls are missing, or where the median of a process's last quarter is more than 5 % and 10 MiB above that of its second
quarter. The first quarter is left out, because the heap grows to its working size there. PostgreSQL is shown without its shared memory, all of which
it uses in time.
`;

const { values } = readArguments(USAGE, {
  options: { lines: { type: 'string', default: '2000000' }, every: { type: 'string', default: '100000' } },
});
const BATCH = 1_000;
const ORGANIZATIONS = ['first', 'second'];
const BATCHES = Number(values.lines) / BATCH / ORGANIZATIONS.length;
const EVERY = Number(values.every);
/** Requests of an organization at the same time. The second waits for the first. */
const SENDERS = 2;
const GROWTH = 1.05;
/** A small process varies by this much, in MiB. */
const NOISE = 10;

const postgres = await startTestPostgres('C');
const redis = await startRedis();
await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
const processes = await startProcesses({ databaseUrl: postgres.url, secret: SECRET, redisUrl: redis?.url });
const { api, admin, pids } = processes;
const names = [...pids.keys(), 'postgres'];
/** MiB by process, after every so many lines. */
const samples: Map<string, number>[] = [];
const faults: string[] = [];
const started = performance.now();
let sent = 0;
try {
  const keys = await createKeys();
  say(`${'lines'.padStart(8)} ${'s'.padStart(6)}${names.map((name) => name.padStart(13)).join('')}`);
  await Promise.all(keys.map(sendCalls));
  for (const key of keys) await countCalls(key);
} finally {
  await processes.stop();
  await redis?.stop();
  await postgres.stop();
}
findGrowth();
say(`${faults.length} faults`);
for (const fault of faults) say(`  ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

async function createKeys(): Promise<string[]> {
  const operator = connect({ addresses: admin, credential: OPERATOR_CREDENTIAL });
  const rate_limit = { requests: 1_000_000_000, period_seconds: 60 };
  await load(
    operator,
    ORGANIZATIONS.map((id) => ({ type: 'organization', id, name: id, rate_limit })),
  );
  const keys = await Promise.all(ORGANIZATIONS.map((id) => createKey(operator, id, { rights: ['ingest', 'read'] })));
  operator.close();
  return keys;
}

async function sendCalls(key: string): Promise<void> {
  let next = 0;
  const send = async () => {
    while (next < BATCHES) {
      await post(key, next++);
      sent += BATCH;
      if (sent % EVERY === 0) sample();
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, send));
}

async function post(key: string, batch: number): Promise<void> {
  const response = await fetch(`${api}/v1/records`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
    body: Array.from({ length: BATCH }, (_, n) => line(batch * BATCH + n)).join('\n'),
  });
  const text = await response.text();
  const isStored = response.status === 200 && (JSON.parse(text) as { accepted: number }).accepted === BATCH;
  if (!isStored) faults.push(`a request got ${response.status}: ${text.slice(0, 200)}`);
}

function line(number: number): string {
  const summary = `Summary ${number}. ${'More was said. '.repeat(10)}`;
  const created_at = new Date(Date.UTC(2024, 0, 1) + number * 60_000).toISOString();
  return JSON.stringify({ type: 'call', id: `call-${number}`, created_at, summary, expert: { name: `Expert ${number}` } });
}

async function countCalls(key: string): Promise<void> {
  const path = 'calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z&per_page=1';
  const response = await fetch(`${api}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
  const { pagination } = (await response.json()) as { pagination: { total_items: number } };
  if (pagination.total_items !== BATCHES * BATCH) faults.push(`an organization has ${pagination.total_items} calls`);
}

function sample(): void {
  const sizes = new Map([...pids].map(([name, pid]) => [name, memoryOf(pid, 'VmRSS')]));
  const servers = [postgres.pid, ...childrenOf(postgres.pid)];
  sizes.set(
    'postgres',
    servers.reduce((sum, pid) => sum + memoryOf(pid, 'RssAnon'), 0),
  );
  samples.push(sizes);
  const seconds = (performance.now() - started) / 1_000;
  const cells = names.map((name) => sizes.get(name)!.toFixed(0).padStart(13));
  say(`${String(sent).padStart(8)} ${seconds.toFixed(0).padStart(6)}${cells.join('')}`);
}

/** Returns MiB of a process; 0 if it has ended. */
function memoryOf(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
    return parseInt(status.find((each) => each.startsWith(`${field}:`))!.slice(field.length + 1)) / 1_024;
  } catch {
    return 0;
  }
}

function findGrowth(): void {
  const quarter = Math.floor(samples.length / 4);
  for (const name of names) {
    const series = samples.map((sizes) => sizes.get(name)!);
    const [second, last] = [median(series.slice(quarter, 2 * quarter)), median(series.slice(-quarter))];
    say(
      `${name.padEnd(13)} second quarter ${second.toFixed(0).padStart(4)} MiB, last quarter ${last.toFixed(0).padStart(4)} MiB`,
    );
    if (last > second * GROWTH && last > second + NOISE)
      faults.push(`${name} grew from ${second.toFixed(0)} to ${last.toFixed(0)} MiB`);
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
