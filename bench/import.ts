// Measures an import against a bare COPY of the same rows into the same tables and indexes, with row-level security off.
//
//   node bench/import.ts [--records 1000000] [--rounds 3]
//
// It starts the system itself and runs on Linux. It prints seconds, the part of them in which a batch held the lock of all imports of its organization,
// and the row of its feed, the largest resident memory of `crs` and of the services, and the promised ratios.
import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import pg from 'pg';
import { from, to } from 'pg-copy-streams';
import { byFifths, median } from './statistics.ts';
import { cpuSeconds, startSystem, type System } from './system.ts';

const { values: options } = parseArgs({
  options: { records: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
});
const RECORDS = Number(options.records);
const ROUNDS = Number(options.rounds);
const CRS = fileURLToPath(new URL('../services/crs/src/main.ts', import.meta.url));
const PROJECTS = 100;
const USERS = 20;
const TABLES = ['calls', 'notes', 'call_days', 'changes'];

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const user = (n: number) => `user${n}@bench.example`;

/** The lines of the file. Calls have all short fields, and every tenth has a transcript; a line has about 1.1 KB. */
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
  for (let n = 0; n < RECORDS - 1 - USERS - PROJECTS; n++) {
    const at = new Date(from + Math.floor((n / RECORDS) * 1000 * 86_400_000)).toISOString();
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

/** For how many seconds batches have held each lock. */
async function held(system: System): Promise<Map<string, number>> {
  const text = await (await fetch(`http://${system.ops('calls')}/metrics`)).text();
  return new Map(
    [...text.matchAll(/^crs_import_lock_duration_sum\{.*lock="(\w+)".*\} (\S+)/gm)].map(([, lock, sum]) => [lock!, Number(sum)]),
  );
}

/** Resident memory in MiB: the largest so far and the present one. */
async function memory(pid: number): Promise<{ peak: number; now: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kibibytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { peak: kibibytes('VmHWM') / 1024, now: kibibytes('VmRSS') / 1024 };
}

async function importFile(
  system: System,
  file: string,
): Promise<{ seconds: number; cpuSeconds: number; summary: Record<string, unknown>; megabytes: number; calls: number[] }> {
  const started = performance.now();
  const addresses = Object.entries(system.admin).map(([service, address]) => [
    `CRS_${service.toUpperCase()}_ADMIN_ADDRESS`,
    address,
  ]);
  // `npm run crs` starts crs with this option, too.
  const child = spawn(process.execPath, ['--max-semi-space-size=8', CRS, 'import', file, '--json'], {
    env: { PATH: process.env['PATH'], ...Object.fromEntries(addresses), CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let megabytes = 0;
  let cpu = 0;
  const calls: number[] = [];
  const watch = setInterval(() => {
    void memory(child.pid!).then(({ peak }) => (megabytes = Math.max(megabytes, peak)));
    void memory(system.pids.get('calls')!).then(({ now }) => calls.push(now));
    cpu = Math.max(cpu, cpuSeconds(new Map([['crs', child.pid!]])).get('crs')!);
  }, 200);
  let output = '';
  for await (const chunk of child.stdout) output += String(chunk);
  clearInterval(watch);
  return { seconds: (performance.now() - started) / 1000, cpuSeconds: cpu, summary: JSON.parse(output), megabytes, calls };
}

/**
 * Copies all tables. @returns seconds. Each table is filled on a new connection, after the tables before it were analyzed. Otherwise the check of the
 * foreign key would use a plan that was made while `calls` was empty, and scan all of `calls` for each row.
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
  for (let round = 0; round < ROUNDS; round++) {
    await client.query(
      `truncate ${TABLES.map((table) => `calls.${table}`).join(', ')}; truncate auth.organizations cascade; truncate projects.projects`,
    );
    const before = cpuSeconds(system.pids);
    const heldBefore = await held(system);
    const fresh = await importFile(system, file);
    const parts = [...(await held(system))].map(
      ([lock, sum]) => `${lock} ${(((sum - (heldBefore.get(lock) ?? 0)) / fresh.seconds) * 100).toFixed(0)} %`,
    );
    const used = [...cpuSeconds(system.pids)].map(([name, seconds]) => `${name} ${(seconds - before.get(name)!).toFixed(1)}`);
    console.log(`round ${round + 1}: CPU seconds ${used.join(', ')}, crs ${fresh.cpuSeconds.toFixed(1)}`);
    console.log(`round ${round + 1}: locks held of the time: ${parts.join(', ')}`);
    const repeat = await importFile(system, file);
    console.log(
      `round ${round + 1}: first ${fresh.seconds.toFixed(1)} s ${JSON.stringify(fresh.summary)}, crs at most ${fresh.megabytes.toFixed(0)} MiB`,
    );
    console.log(
      `round ${round + 1}: again ${repeat.seconds.toFixed(1)} s ${JSON.stringify(repeat.summary)}, crs at most ${repeat.megabytes.toFixed(0)} MiB`,
    );
    first.push(fresh.seconds);
    again.push(repeat.seconds);
    for (const service of ['auth', 'projects', 'calls'])
      console.log(`  ${service}: at most ${(await memory(system.pids.get(service)!)).peak.toFixed(0)} MiB`);
    console.log(`  calls, median of each fifth of the import: ${byFifths(fresh.calls)} MiB`);
  }
  const dumps = new Map<string, string>();
  for (const table of TABLES) {
    const dump = join(directory, table);
    await pipeline(client.query(to(`copy calls.${table} (${await columns(client, table)}) to stdout`)), createWriteStream(dump));
    dumps.set(table, dump);
  }
  for (const table of TABLES) await client.query(`alter table calls.${table} disable row level security`);
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round++) bare.push(await copyBare(client, dumps));
  console.log(`bare COPY: ${bare.map((seconds) => seconds.toFixed(1)).join(', ')} s`);
  console.log(`\nimport to bare COPY: ${(median(first) / median(bare)).toFixed(2)} (at most 3)`);
  console.log(`unchanged again to first: ${(median(again) / median(first)).toFixed(2)} (at most 0.5)`);
} finally {
  await client.end();
  await system.stop();
  await rm(directory, { recursive: true, force: true });
}
