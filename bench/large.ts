// Measures one organization with many calls beside 10,000 small ones.
//
//   node bench/large.ts seed DIRECTORY [--rows 10000000]
//   node bench/large.ts measure DIRECTORY [--requests 1000]
//
// `seed` fills a PostgreSQL in the directory; a million calls take 3 GB. `measure` starts the system on it, on Linux, and prints the last page of the
// list to the first, the total, the time of the list of organizations, and the memory of each process by fifths while the large organization is
// erased, another one imports and small ones read. The erasure is part of it, so a directory serves once.
import { readFile } from 'node:fs/promises';
import { mkdirSync, chmodSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connect, type Connection } from '@crs/crs/connection';
import { erase } from '@crs/crs/erasure';
import { createLogger } from '@crs/kit/process/log';
import { startPostgres } from '@crs/local/postgres';
import { prepareDatabase } from '@crs/local/stack';
import { createKey } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL, SECRET } from '@crs/testing/setup';
import pg from 'pg';
import { measure, type Result } from './load.ts';
import { copyCalls, seedCalls, seedFeed } from './seed.ts';
import { byFifths, median, quantile, worst } from './statistics.ts';
import { startSystem, type System } from './system.ts';

const { values: options, positionals } = parseArgs({
  options: { rows: { type: 'string', default: '10000000' }, requests: { type: 'string', default: '1000' } },
  allowPositionals: true,
});
const [command, directory] = positionals;
if ((command !== 'seed' && command !== 'measure') || !directory) {
  console.error('usage: node bench/large.ts seed|measure DIRECTORY [--rows N] [--requests N]');
  process.exit(2);
}
const REQUESTS = Number(options.requests);
const SMALL = 10_000;
const CALLS_OF_SMALL = 20;
const DAYS = 1_000;
const PAGE = 50;
const CONCURRENCY = 8;
const BATCH = 100;
const NOW = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 1);
const BOUNDLESS = { requests: 1_000_000_000, period_seconds: 60 };

mkdirSync(directory, { recursive: true });
// Where root runs this, PostgreSQL runs as another user, who must be able to pass through the directory.
chmodSync(directory, 0o711);
const postgres = await startPostgres({
  dataDir: directory,
  locale: 'C',
  fsync: false,
  log: createLogger('postgres', { level: 'error' }),
});
await (command === 'seed' ? seed() : measureAll());

async function seed(): Promise<void> {
  const started = performance.now();
  const after = () => `${((performance.now() - started) / 1000).toFixed(0)} s`;
  await prepareDatabase({ adminDatabaseUrl: postgres.url, secret: SECRET, operatorCredential: OPERATOR_CREDENTIAL });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(
    `insert into auth.organizations (organization, name, rate_limit_requests)
      select 'small-' || n, 'Small ' || n, 1000000000 from generate_series(1, $1::int) n union all select 'large', 'Large', 1000000000`,
    [SMALL],
  );
  await seedCalls(postgres.url, { organization: 'large', rows: Number(options.rows), before: NOW, days: DAYS });
  console.log(`${options.rows} calls after ${after()}`);
  await seedFeed(postgres.url, 'large');
  console.log(`their feed after ${after()}`);
  await copyCalls(postgres.url, { from: 'large', prefix: 'small-', organizations: SMALL, calls: CALLS_OF_SMALL });
  await client.query('vacuum analyze');
  const { rows: sizes } = await client.query<{ size: string }>(
    `select pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  console.log(`${SMALL} small organizations after ${after()}; ${sizes[0]!.size}`);
  await client.end();
  await postgres.stop();
}

async function measureAll(): Promise<void> {
  const system = await startSystem({}, postgres);
  const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
  try {
    await load(operator, [{ type: 'organization', id: 'importer', name: 'Importer', rate_limit: BOUNDLESS }]);
    await lists(system, operator);
    await organizations(operator);
    await erasure(system, operator);
  } finally {
    operator.close();
    await system.stop();
  }
}

/** The first and the last page of the list, in three alternating rounds, and the total. */
async function lists(system: System, operator: Connection): Promise<void> {
  const headers = { authorization: `Bearer ${await createKey(operator, 'large')}` };
  const rows = await count('large');
  const url = (page: number) =>
    `${system.api}/v1/calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z&page=${page}`;
  const last = Math.ceil(rows / PAGE);
  const { pagination } = (await (await fetch(url(last), { headers })).json()) as { pagination: { total_items: number } };
  console.log(`total ${pagination.total_items}, counted ${rows}: ${pagination.total_items === rows ? 'exact' : 'WRONG'}`);
  const asked = { requests: REQUESTS, concurrency: CONCURRENCY };
  const ratios: { cpu: number; p50: number }[] = [];
  for (let round = 0; round <= 3; round++) {
    const first = await measure(url(1), headers, asked, system.pids);
    const deep = await measure(url(last), headers, asked, system.pids);
    // The first round fills caches.
    if (round === 0) continue;
    print('page 1', first);
    print(`page ${last}`, deep);
    ratios.push({ cpu: deep.total / first.total, p50: deep.p50 / first.p50 });
  }
  const of = (name: 'cpu' | 'p50') => median(ratios.map((ratio) => ratio[name])).toFixed(2);
  console.log(`last page to first: CPU ${of('cpu')}, p50 ${of('p50')} (at most 2)`);
}

async function organizations(operator: Connection): Promise<void> {
  const started = performance.now();
  const { organizations: all } = await operator.auth.listOrganizations({}, await operator.operator());
  console.log(`list of ${all.length} organizations: ${seconds(started)} s (at most 3)`);
}

/** Erases the large organization while another one imports and a small one reads. */
async function erasure(system: System, operator: Connection): Promise<void> {
  const headers = { authorization: `Bearer ${await createKey(operator, 'small-1')}` };
  const small = `${system.api}/v1/calls?start_date=2000-01-01T00:00:00Z&end_date=2100-01-01T00:00:00Z`;
  const rows = await count('large');
  const imports: number[] = [];
  const reads: number[] = [];
  let failed = 0;
  let erased = false;
  const memory = new Map<string, number[]>();
  const until = async (work: () => Promise<void>, pauseMs: number) => {
    while (!erased) {
      await work();
      await delay(pauseMs);
    }
  };
  const timed = async (times: number[], work: () => Promise<unknown>) => {
    const started = performance.now();
    await work().catch(() => failed++);
    times.push(performance.now() - started);
  };
  const started = performance.now();
  let first = '';
  const others = [
    until(async () => {
      first = await firstCall(first);
      console.log(`  after ${seconds(started)} s: the first call that is left is ${first || 'none'}`);
    }, 30_000),
    until(() => timed(imports, () => load(operator, batch(imports.length))), 200),
    until(() => timed(reads, async () => expectOk(await fetch(small, { headers }))), 100),
    until(async () => {
      for (const [name, pid] of system.pids) memory.set(name, [...(memory.get(name) ?? []), await resident(pid)]);
    }, 1_000),
  ];
  try {
    await erase(operator, 'large', { $case: 'organization', value: true });
  } finally {
    erased = true;
  }
  await Promise.all(others);
  console.log(`erasure of ${rows} calls: ${seconds(started)} s, ${await count('large')} left`);
  for (const [name, times] of Object.entries({ imports, reads })) {
    console.log(
      `${name} of others meanwhile: ${times.length}, p50 ${median(times).toFixed(0)} ms, p99 ${quantile(times, 0.99).toFixed(0)} ms, longest ${worst(times).toFixed(0)} ms`,
    );
  }
  console.log(`failed: ${failed}; calls of the importer ${await count('importer')} of ${imports.length * BATCH}`);
  for (const [name, samples] of memory) console.log(`  ${name}: ${byFifths(samples)} MiB, at most ${worst(samples).toFixed(0)}`);
}

function batch(number: number): object[] {
  return Array.from({ length: BATCH }, (_, n) => ({
    type: 'call',
    organization: 'importer',
    id: `call_${number}_${n}`,
    call_type: 'interview',
    call_status: 'done',
    created_at: new Date(NOW.getTime() - n * 60_000).toISOString(),
    summary: 'Summary of what was said in this call. '.repeat(8),
  }));
}

async function count(organization: string): Promise<number> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query('select count(*)::int as calls from calls.calls where organization = $1', [organization]);
  await client.end();
  return rows[0].calls;
}

/** Calls are erased in the order of their ids. */
async function firstCall(from: string): Promise<string> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query<{ id: string }>(
    `select call_id as id from calls.calls where organization = 'large' and call_id >= $1 order by call_id limit 1`,
    [from],
  );
  await client.end();
  return rows[0]?.id ?? '';
}

function expectOk(response: Response): Promise<string> {
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.text();
}

/** Resident memory in MiB. PostgreSQL's is that of its main process. */
async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

function seconds(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1);
}

function print(name: string, { p50, p99, cpu, total }: Result): void {
  const parts = [...cpu].map(([process, value]) => `${process} ${value.toFixed(2)}`).join('  ');
  console.log(`${name.padEnd(12)} p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  CPU ${total.toFixed(2)} ms  (${parts})`);
}
