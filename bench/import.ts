// Compares an import with a plain COPY of the same rows into the same tables and indexes, with row-level security off.
//
//   node bench/import.ts [--records 1000000] [--rounds 3]
//
// Starts the system itself. Linux only. Prints the seconds, the shares of time that a batch held its organization's import lock and the row of its feed, the
// peak memory of `crs` and of the services, and the ratios with their goals.
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import pg from 'pg';
import { from, to } from 'pg-copy-streams';
import { median, printFigure, readOptions } from './report.ts';
import { cpuSeconds, startSystem } from './system.ts';

const { records, rounds } = readOptions({ records: 1_000_000, rounds: 3 });
const CRS = fileURLToPath(new URL('../services/crs/src/main.ts', import.meta.url));
const PROJECTS = 100;
const USERS = 20;
const TABLES = ['calls', 'notes', 'call_days', 'changes'];

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const user = (n: number) => `user${n}@bench.example`;

/** Generates the lines of the file. Calls have all short fields, and every tenth call has a transcript. A line has about 1.1 KB. */
function* lines(): Generator<string> {
  yield JSON.stringify({ type: 'organization', id: 'bench', name: 'Bench' });
  for (let n = 0; n < USERS; n++)
    yield JSON.stringify({ type: 'user', organization: 'bench', email: user(n), name: `User ${n}` });
  for (let n = 0; n < PROJECTS; n++) {
    yield JSON.stringify({
      type: 'project',
      organization: 'bench',
      id: uuid(n),
      name: `Project ${n}`,
      members: [{ email: user(n % USERS), role: 'lead' }],
    });
  }
  const from = Date.parse('2024-01-01T00:00:00Z');
  for (let n = 0; n < records - 1 - USERS - PROJECTS; n++) {
    const at = new Date(from + Math.floor((n / records) * 1000 * 86_400_000)).toISOString();
    yield JSON.stringify({
      type: 'call',
      organization: 'bench',
      id: `call_${String(n).padStart(9, '0')}`,
      project_id: uuid(n % PROJECTS),
      call_type: n % 5 === 0 ? 'meeting' : 'interview',
      conducted_by: user(n % USERS),
      call_status: 'done',
      created_at: at,
      date: at,
      duration_minutes: 30 + (n % 60),
      cost: n % 900,
      rating: 1 + (n % 5),
      segment: `Segment ${n % 7}`,
      source: `Network ${n % 5}`,
      expert: {
        name: `Expert ${n % 5000}`,
        job_title: `Head of ${n % 300}`,
        organization: `Company ${n % 2000}`,
        country: `Country ${n % 60}`,
        bio: null,
      },
      summary: 'Summary of what was said in this call. '.repeat(6),
      ktas: '- One thing that was learned.\n- And another.',
      kta_approval_status: 'approved',
      qa_blocks: [
        { id: uuid(n), question: 'How large is the market?', answer: 'About as large as it was last year.', section: 'Market' },
      ],
      ...(n % 10 === 0 && {
        transcript: [{ speaker: `Expert ${n % 5000}`, start_seconds: 0, text: 'Words that were said. '.repeat(20) }],
      }),
    });
  }
}

/** Returns for how many seconds batches have held each lock so far. */
async function held(): Promise<Map<string, number>> {
  const metrics = await (await fetch(`http://${system.ops('calls')}/metrics`)).text();
  return new Map(
    [...metrics.matchAll(/^crs_import_lock_duration_sum\{.*lock="(\w+)".*\} (\S+)/gm)].map(([, lock, sum]) => [
      lock!,
      Number(sum),
    ]),
  );
}

/** Returns the peak resident memory of a process, in MiB. */
async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

/** Runs `crs import`. @returns its duration, CPU seconds, peak memory (in MiB) and output */
async function importFile() {
  const started = performance.now();
  const addresses = Object.entries(system.admin).map(([service, address]) => [
    `CRS_${service.toUpperCase()}_ADMIN_ADDRESS`,
    address,
  ]);
  // As in `npm run crs`.
  const child = spawn(process.execPath, ['--max-semi-space-size=8', CRS, 'import', file, '--json'], {
    env: { PATH: process.env['PATH'], ...Object.fromEntries(addresses), CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [memory, cpu] = [0, 0];
  const watch = setInterval(() => {
    void peakMemory(child.pid!).then((peak) => (memory = Math.max(memory, peak)));
    cpu = Math.max(cpu, cpuSeconds(new Map([['crs', child.pid!]])).get('crs')!);
  }, 200);
  const summary = await text(child.stdout);
  clearInterval(watch);
  return { seconds: (performance.now() - started) / 1000, cpu, memory, summary: summary.trim() };
}

/**
 * Copies all tables. Fills each on a new connection, after the earlier tables were analyzed. Otherwise the foreign-key check would use a plan that was made
 * while `calls` was empty, and scan all of `calls` for each row. @returns seconds
 */
async function copyBare(client: pg.Client, dumps: Map<string, string>): Promise<number> {
  await client.query(`truncate ${TABLES.map((table) => `calls.${table}`).join(', ')}`);
  let seconds = 0;
  for (const [table, dump] of dumps) {
    const target = `calls.${table} (${await columns(client, table)})`;
    const connection = new pg.Client({ connectionString: system.databaseUrl });
    await connection.connect();
    const started = performance.now();
    await pipeline(createReadStream(dump), connection.query(from(`copy ${target} from stdin`)));
    seconds += (performance.now() - started) / 1000;
    await connection.end();
    await client.query(`analyze calls.${table}`);
  }
  return seconds;
}

async function columns(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query(
    `select string_agg(column_name, ', ' order by ordinal_position) as list from information_schema.columns
      where table_schema = 'calls' and table_name = $1 and is_generated = 'NEVER'`,
    [table],
  );
  return rows[0].list;
}

const directory = await mkdtemp(join(tmpdir(), 'crs-import-'));
const file = join(directory, 'records.ndjson');
await pipeline(Readable.from(lines().map((line) => `${line}\n`)), createWriteStream(file));
const system = await startSystem();
const client = new pg.Client({ connectionString: system.databaseUrl });
await client.connect();
try {
  const first: number[] = [];
  const again: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await client.query(
      `truncate ${TABLES.map((table) => `calls.${table}`).join(', ')}; truncate auth.organizations cascade; truncate projects.projects`,
    );
    const before = cpuSeconds(system.pids);
    const heldBefore = await held();
    const fresh = await importFile();
    const shares = [...(await held())].map(
      ([lock, sum]) => `${lock} ${(((sum - (heldBefore.get(lock) ?? 0)) / fresh.seconds) * 100).toFixed(0)} %`,
    );
    const used = [...cpuSeconds(system.pids)].map(([name, seconds]) => `${name} ${(seconds - before.get(name)!).toFixed(1)}`);
    const repeated = await importFile();
    const peaks = [...system.pids].map(async ([name, pid]) => `${name} ${(await peakMemory(pid)).toFixed(0)}`);
    console.log(`round ${round}: CPU seconds ${used.join(', ')}, crs ${fresh.cpu.toFixed(1)}`);
    console.log(`  share of time that locks were held: ${shares.join(', ')}`);
    for (const [name, { seconds, summary }] of Object.entries({ first: fresh, again: repeated }))
      console.log(`  ${name} ${seconds.toFixed(1)} s ${summary}`);
    console.log(`  peak MiB: ${(await Promise.all(peaks)).join(', ')}, crs ${fresh.memory.toFixed(0)}`);
    first.push(fresh.seconds);
    again.push(repeated.seconds);
  }
  const dumps = new Map<string, string>();
  for (const table of TABLES) {
    const dump = join(directory, table);
    await pipeline(client.query(to(`copy calls.${table} (${await columns(client, table)}) to stdout`)), createWriteStream(dump));
    dumps.set(table, dump);
  }
  for (const table of TABLES) await client.query(`alter table calls.${table} disable row level security`);
  const bare: number[] = [];
  for (let round = 0; round < rounds; round++) bare.push(await copyBare(client, dumps));
  const ratios = (times: number[], base: number[]) => times.map((seconds) => seconds / median(base));
  console.log(`plain COPY: ${bare.map((seconds) => seconds.toFixed(1)).join(', ')} s`);
  printFigure('import to the median plain COPY', ratios(first, bare), { atMost: 2 });
  printFigure('unchanged again to the median first import', ratios(again, first), { atMost: 0.15 });
} finally {
  await client.end();
  await system.stop();
  await rm(directory, { recursive: true, force: true });
}
