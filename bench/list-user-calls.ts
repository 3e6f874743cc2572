// Measures a user's list of calls among 1,000,000 calls: examined rows, time under row-level security, and latency when nothing matches.
//
//   node bench/list-user-calls.ts [--rows 1000000]
//
// It starts the system itself. It runs every mix of filters for users who see 1, 20 and 200 of 500 projects, for the first page and a later one. Each
// statement runs as the service's role and as a role that row-level security doesn't bind. Prints a line for each, and the promised ratios.
import { parseArgs } from 'node:util';
import { connect } from '@crs/crs/connection';
import { toolClient } from '@crs/testing/mcp';
import { createToken } from '@crs/testing/credentials';
import { load } from '@crs/testing/load';
import { OPERATOR_CREDENTIAL } from '@crs/testing/setup';
import pg from 'pg';
import { listUserCalls, type CallFilters } from '../services/calls/src/store/list-user-calls.ts';
import { storedTexts, textSql } from './seed.ts';
import { median, quantile } from './statistics.ts';
import { startSystem } from './system.ts';

const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '1000000' } } });
const ROWS = Number(options.rows);
const PROJECTS = 500;
const SEEN = [1, 20, 200];
const LIMIT = 26;
const RUNS = 9;
const CALLS_LATENCY = 200;

const project = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const email = (seen: number) => `sees${seen}@bench.example`;

const ANY: CallFilters = {
  projectId: null, callStatus: null, callType: null, country: null, jobTitleContains: null, employerContains: null,
  sourceContains: null, segmentContains: null, minRating: null, minCost: null, maxCost: null, minDurationMinutes: null,
  maxDurationMinutes: null, dateAfter: null, dateBefore: null,
}; // prettier-ignore

const MIXES: [string, Partial<CallFilters>][] = [
  ['nothing', {}],
  ['project_id, seen', { projectId: project(0) }],
  ['project_id, unseen', { projectId: project(PROJECTS - 1) }],
  ['call_status', { callStatus: 'done' }],
  ['call_status, none', { callStatus: 'candidate' }],
  ['call_type', { callType: 'meeting' }],
  ['country', { country: 'Country 7' }],
  ['country, none', { country: 'Nowhere' }],
  ['job_title_contains', { jobTitleContains: 'of 17' }],
  ['organization_contains', { employerContains: 'PANY 19' }],
  ['organization_contains, none', { employerContains: '%' }],
  ['source_contains', { sourceContains: 'network 3' }],
  ['segment_contains', { segmentContains: 'segment 2' }],
  ['min_rating', { minRating: 5 }],
  ['cost', { minCost: 100, maxCost: 110 }],
  ['duration', { minDurationMinutes: 80, maxDurationMinutes: 85 }],
  ['dates', { dateAfter: new Date('2024-06-01Z'), dateBefore: new Date('2024-06-08Z') }],
  [
    'many',
    { callType: 'interview', country: 'Country 7', minRating: 4, minCost: 10, segmentContains: '2', sourceContains: 'net' },
  ],
];

const system = await startSystem();
const admin = new pg.Client({ connectionString: system.databaseUrl });
await admin.connect();
const operator = connect({ addresses: system.admin, credential: OPERATOR_CREDENTIAL });
try {
  await seed();
  const users = new Map<number, string>();
  const { rows } = await admin.query(`select user_id, email from auth.users where organization = 'bench'`);
  for (const seen of SEEN) users.set(seen, rows.find((row) => row.email === email(seen)).user_id);

  let worstRows = 0;
  let worstTime = 0;
  for (const seen of SEEN) {
    const visible = Array.from({ length: seen }, (_, n) => project(n));
    const { rows: counted } = await admin.query(
      `select count(*)::int as calls from calls.calls where organization = 'bench' and (project_id = any($1::uuid[]) or conducted_by = $2)`,
      [visible, users.get(seen)],
    );
    const mayExamine = counted[0].calls + LIMIT;
    for (const mine of [false, true]) {
      for (const after of [null, { at: new Date('2025-01-01Z'), id: 'call' }]) {
        for (const [name, filters] of MIXES) {
          const query = { userId: users.get(seen)!, mine, visible, filters: { ...ANY, ...filters }, after, limit: LIMIT };
          const { text, values = [] } = listUserCalls('bench', query);
          const examined = await rowsExamined(text, [...values]);
          const [walled, bare] = await times(text, [...values]);
          worstRows = Math.max(worstRows, examined / mayExamine);
          // Below a fifth of a millisecond, the ratio is noise.
          if (walled > 0.2) worstTime = Math.max(worstTime, walled / bare);
          const what = `sees ${seen}, ${mine ? 'mine' : 'all'}, ${after ? 'later page' : 'first page'}, ${name}`;
          console.log(
            `${what.padEnd(62)} ${String(examined).padStart(7)} rows  ${walled.toFixed(2).padStart(8)} ms  bypassing ${bare.toFixed(2).padStart(8)} ms`,
          );
        }
      }
    }
  }
  console.log(`\nexamined rows to visible rows and a page: at most ${worstRows.toFixed(2)} (1.1 allowed)`);
  console.log(`time under row-level security to time without it: at most ${worstTime.toFixed(2)} (3 allowed)`);

  const tools = toolClient(system.tools, await createToken(operator, 'bench', email(20)));
  const latencies: number[] = [];
  for (let n = 0; n < CALLS_LATENCY; n++) {
    const started = performance.now();
    const { value } = await tools('list_calls', { scope: 'all', country: 'Nowhere' });
    latencies.push(performance.now() - started);
    if (value.calls.length !== 0) throw new Error('something matched');
  }
  console.log(
    `list_calls when ${(ROWS / PROJECTS) * 20} are visible and nothing matches: p50 ${median(latencies).toFixed(1)} ms, p95 ${quantile(latencies, 0.95).toFixed(1)} ms (100 allowed)`,
  );
} finally {
  operator.close();
  await admin.end();
  await system.stop();
}

/** Writes the calls by SQL, because the import has a benchmark of its own. */
async function seed(): Promise<void> {
  await load(operator, [
    { type: 'organization', id: 'bench', name: 'Bench', tool_rate_limit: { requests: 1_000_000, period_seconds: 60 } },
    ...SEEN.map((seen) => ({ type: 'user', organization: 'bench', email: email(seen), name: `Sees ${seen}` })),
    ...Array.from({ length: PROJECTS }, (_, n) => ({
      type: 'project',
      organization: 'bench',
      id: project(n),
      name: `Project ${n}`,
      members: SEEN.filter((seen) => n < seen).map((seen) => ({ email: email(seen), role: 'member' })),
    })),
  ]);
  await admin.query(
    `insert into calls.calls (organization, call_id, project_id, conducted_by, call_type, call_status, created_at, updated_at, date,
        duration_minutes, segment, source, segment_folded, source_folded, cost, rating, name, job_title, job_title_folded, employer,
        employer_folded, country, country_folded, shown_hash, record_hash, list_item_json, detail_json)
      select 'bench', 'call_' || lpad(n::text, 12, '0'), ('00000000-0000-4000-8000-' || lpad((n % $2)::text, 12, '0'))::uuid,
        case when n % 1000 = 999 then (select user_id from auth.users where organization = 'bench' order by email_folded limit 1 offset n / 1000 % 3) end,
        case when n % 5 = 0 then 'meeting' else 'interview' end, 'done', at, now(), at, 30 + n % 60, 'Segment ' || n % 7, 'Network ' || n % 5,
        'segment ' || n % 7, 'network ' || n % 5, n % 900, 1 + n % 5, 'Expert ' || n % 5000, 'Head of ' || n % 300, 'head of ' || n % 300,
        'Company ' || n % 2000, 'company ' || n % 2000, 'Country ' || n % 60, 'country ' || n % 60,
        sha256(n::text::bytea), sha256(n::text::bytea), ${textSql(3)}, ${textSql(4)}
      from generate_series(1, $1::int) n,
        lateral (select (timestamptz '2026-09-01Z' - (n::float8 / $1 * 1000) * interval '1 day')::timestamptz(3) as at) t`,
    [ROWS, PROJECTS, storedTexts(0).listItem, storedTexts(0).detail],
  );
  await admin.query('vacuum analyze calls.calls');
  await admin.query(`create role bench_bypass bypassrls; grant usage on schema calls to bench_bypass;
    grant select on calls.calls to bench_bypass; select set_config('app.organization_id', 'bench', false)`);
}

interface Plan {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

async function rowsExamined(text: string, values: unknown[]): Promise<number> {
  await admin.query('set role crs_calls');
  const { rows } = await admin.query(`explain (analyze, format json) ${text}`, values);
  const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
  return nodes(rows[0]['QUERY PLAN'][0].Plan)
    .filter((node) => node['Relation Name'])
    .reduce((sum, node) => {
      const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      return sum + Math.round((node['Actual Rows'] + removed) * node['Actual Loops']);
    }, 0);
}

/** The median milliseconds under row-level security and without it, measured in turns. */
async function times(text: string, values: unknown[]): Promise<[number, number]> {
  const taken: Record<string, number[]> = { crs_calls: [], bench_bypass: [] };
  for (let run = 0; run < RUNS; run++) {
    for (const [role, list] of Object.entries(taken)) {
      await admin.query(`set role ${role}`);
      const started = performance.now();
      await admin.query(text, values);
      list.push(performance.now() - started);
    }
  }
  return [median(taken['crs_calls']!), median(taken['bench_bypass']!)];
}
