// Measures the bytes that a call takes in PostgreSQL, and the bytes of WAL that its import writes.
//
//   node bench/storage.ts [--calls 20000] [--summary 2000] [--transcript 30000]
//
// The sizes are characters of English prose, from the project's own documents, so that it is compressed as people's texts are.
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import pg from 'pg';
import { startSystem } from './system.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '20000' },
    summary: { type: 'string', default: '2000' },
    transcript: { type: 'string', default: '30000' },
  },
});
const [calls, summary, transcript] = [values.calls, values.summary, values.transcript].map(Number) as [number, number, number];
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const prose = globSync('{docs,services/*}/**/*.md', { cwd: ROOT, exclude: (name) => name.includes('node_modules') })
  .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  .flatMap((text) => text.replaceAll(/^```.*?^```|^\|.*$/gms, '').split(/(?<=[.!?])\s+/))
  .filter((sentence) => /^[A-Z][^`[\]*]{30,300}[.!?]$/.test(sentence));

let state = 1;
/** The same sentences in each run, in an order that doesn't repeat. */
const sentence = () => prose[(state = (state * 48_271) % 2_147_483_647) % prose.length]!;
function text(length: number): string {
  let made = sentence();
  while (made.length < length) made += ` ${sentence()}`;
  return made.slice(0, length);
}

function* lines(): Generator<object> {
  yield { type: 'organization', id: 'bench', name: 'Bench' };
  yield { type: 'user', organization: 'bench', email: 'ann@bench.example', name: 'Ann' };
  const from = Date.parse('2024-01-01T00:00:00Z');
  for (let n = 0; n < calls; n++) {
    const at = new Date(from + Math.floor((n / calls) * 1000 * 86_400_000)).toISOString();
    const turns = Math.ceil(transcript / 300);
    yield {
      ...{
        type: 'call',
        organization: 'bench',
        id: `call_${String(n).padStart(9, '0')}`,
        call_type: 'interview',
        call_status: 'done',
      },
      ...{ conducted_by: 'ann@bench.example', created_at: at, date: at, duration_minutes: 60, cost: 500, rating: 4 },
      ...{ segment: `Segment ${n % 7}`, source: `Network ${n % 5}`, summary: text(summary) },
      expert: {
        name: `Expert ${n % 5000}`,
        job_title: `Head of ${n % 300}`,
        organization: `Company ${n % 2000}`,
        country: 'Spain',
      },
      ...(transcript > 0 && {
        transcript: Array.from({ length: turns }, (_, turn) => ({
          speaker: turn % 2 === 0 ? 'Ann' : `Expert ${n % 5000}`,
          start_seconds: turn * 20,
          text: text(Math.min(300, transcript)),
        })),
      }),
    };
  }
}

const system = await startSystem();
const folder = await mkdtemp(join(tmpdir(), 'crs-storage-'));
const client = new pg.Client({ connectionString: system.databaseUrl });
try {
  await client.connect();
  const file = join(folder, 'calls.ndjson');
  await writeFile(
    file,
    lines().map((line) => `${JSON.stringify(line)}\n`),
  );
  const wal = async () => (await client.query<{ at: string }>("select pg_current_wal_lsn() - '0/0' as at")).rows[0]!.at;
  const before = await wal();
  const addresses = Object.entries(system.admin).map(([name, at]) => [`CRS_${name.toUpperCase()}_ADMIN_ADDRESS`, at]);
  const env = { PATH: process.env['PATH'], ...Object.fromEntries(addresses), CRS_OPERATOR_CREDENTIAL: OPERATOR_CREDENTIAL };
  await promisify(execFile)(process.execPath, [join(ROOT, 'services/crs/src/main.ts'), 'import', file, '--json'], { env });
  const written = Number(await wal()) - Number(before);
  await client.query('vacuum analyze');
  const { rows } = await client.query<{ name: string; heap: string; texts: string; indexes: string }>(
    `select relname as name, pg_relation_size(relid) as heap, pg_table_size(relid) - pg_relation_size(relid) as texts, pg_indexes_size(relid) as indexes
      from pg_stat_user_tables where schemaname = 'calls' and n_live_tup > 0 order by pg_total_relation_size(relid) desc`,
  );
  const perCall = (bytes: number | string) => Math.round(Number(bytes) / calls);
  for (const { name, heap, texts, indexes } of rows) {
    process.stdout.write(`${name.padEnd(16)} rows ${perCall(heap)}, long texts ${perCall(texts)}, indexes ${perCall(indexes)}\n`);
  }
  const all = rows.reduce((sum, { heap, texts, indexes }) => sum + Number(heap) + Number(texts) + Number(indexes), 0);
  process.stdout.write(`${calls} calls: ${perCall(all)} bytes a call, ${perCall(written)} bytes of WAL a call\n`);
} finally {
  await client.end();
  await system.stop();
  await rm(folder, { recursive: true });
}
