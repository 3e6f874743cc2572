import type { Statement } from '@crs/kit/data/database';
import { createDatabase, type TestDatabase } from '@crs/testing/postgres';
import { openSession, type Session } from '@crs/testing/sql';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { getCall } from '../src/store/get-call.ts';
import { getUserCall } from '../src/store/get-user-call.ts';
import { discardPlans, findStored } from '../src/store/import-calls.ts';
import { listCalls } from '../src/store/list-calls.ts';
import { listUserCalls, type CallFilters } from '../src/store/list-user-calls.ts';
import { OPEN_VIEW } from './_sample.ts';
import { projectSegments } from '../src/store/project-segments.ts';

/** The large organization has DAYS * CALLS_A_DAY calls, each small one a tenth of that. CHANGED calls were updated later. */
const DAYS = 100;
const CALLS_A_DAY = 200;
const CHANGED = 50;
/** Each project has a twentieth of the calls. The calls that the user conducted belong to a third project. */
const PROJECTS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
const USER = '99999999-0000-4000-8000-000000000000';
const CONDUCTED = (DAYS * CALLS_A_DAY) / 40;

let created: TestDatabase;
let session: Session;

beforeAll(async () => {
  created = await createDatabase(inject('postgresUrl'), inject('template'));
  session = await openSession(created.url);
  for (const [organization, calls] of [
    ['small-1', 20],
    ['large', CALLS_A_DAY],
    ['small-2', 20],
    ['small-3', 20],
  ]) {
    await session.query(
      `insert into calls.calls (organization, call_id, call_type, project_id, conducted_by, created_at, updated_at, list_item_json, detail_json, detail_hash, record_hash, verbatim)
        select $1, 'call-' || day || '-' || n, 'interview', ('00000000-0000-4000-8000-' || lpad((n % 20)::text, 12, '0'))::uuid, case when n % 40 = 7 then $5::uuid end, timestamptz '2025-01-01Z' + make_interval(days => day, mins => n),
          timestamptz '2025-06-01Z' + make_interval(mins => case when day = 3 and n <= $4 then 60 else 0 end), repeat('x', 300), repeat('x', 500), '', '', 'words'
        from generate_series(0, $3 - 1) day, generate_series(1, $2::int) n`,
      [organization, calls, DAYS, CHANGED, USER],
    );
  }
  await session.query(
    `insert into calls.call_days select organization, (created_at at time zone 'UTC')::date, count(*) from calls.calls group by 1, 2`,
  );
  await session.query('analyze calls.calls, calls.call_days');
  await session.query(`set role crs_calls`);
  await session.query(`set app.organization_id = 'large'`);
});
afterAll(async () => {
  await session?.close();
  await created?.drop();
});

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Plan[];
}

const literal = (value: unknown): string => {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Date) return `'${value.toISOString()}'`;
  return Array.isArray(value) ? `'{${value.join()}}'` : `'${String(value)}'`;
};

type PlannedStatement = Pick<Statement, 'name' | 'text' | 'values' | 'plannedOnce'>;

/** Runs a statement, and lists the scans of its plan with the rows that each one read. */
async function scansOf({
  name,
  text,
  values = [],
  plannedOnce,
}: PlannedStatement): Promise<{ type: string; table: string; rows: number }[]> {
  // PostgreSQL may choose the generic plan for a statement that has run often, so that plan must be good, too.
  await session.query(`set plan_cache_mode = force_${plannedOnce === false ? 'custom' : 'generic'}_plan`);
  await session.query(`prepare ${name} as ${text}`);
  try {
    const [row] = await session.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `explain (analyze, format json) execute ${name}(${values.map(literal).join()})`,
    );
    const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
    return nodes(row!['QUERY PLAN'][0]!.Plan).flatMap((node) => {
      const { 'Node Type': type, 'Relation Name': table } = node;
      const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
      return table ? { type, table, rows } : [];
    });
  } finally {
    await session.query(`deallocate ${name}`);
  }
}

const at = (day: number, hours = 0) => new Date(Date.UTC(2025, 0, 1 + day, hours));
const ALL = { start: at(-500), end: at(500), updatedSince: undefined };
const PARTS_OF_DAYS = { start: at(2, 1), end: at(90, 2), updatedSince: undefined };
const userList = (filters: CallFilters, after: Date | null = null, mine = false) =>
  listUserCalls('large', {
    userId: USER,
    mine,
    visible: PROJECTS,
    filters,
    after: after && { at: after, id: 'call' },
    limit: 51,
  });

describe('the plan of', () => {
  it.each<[string, PlannedStatement, number]>([
    ['the first page', listCalls('large', { ...ALL, offset: 0, limit: 50 }), 50],
    [
      'the first page of a range within days',
      listCalls('large', { ...PARTS_OF_DAYS, offset: 0, limit: 50 }),
      50 + 2 * CALLS_A_DAY,
    ],
    ['the second page', listCalls('large', { ...ALL, offset: 50, limit: 50 }), CALLS_A_DAY + 100],
    ['a page in the middle', listCalls('large', { ...ALL, offset: 10_050, limit: 50 }), CALLS_A_DAY + 100],
    ['the last page', listCalls('large', { ...ALL, offset: DAYS * CALLS_A_DAY - 20, limit: 50 }), CALLS_A_DAY + 100],
    [
      'a deep page of a range within days',
      listCalls('large', { ...PARTS_OF_DAYS, offset: 9_000, limit: 50 }),
      3 * CALLS_A_DAY + 100,
    ],
    ['a page past the end', listCalls('large', { ...ALL, offset: 1_000_000, limit: 50 }), CALLS_A_DAY + 100],
    [
      'recent changes',
      listCalls('large', { ...ALL, updatedSince: new Date('2025-06-01T00:30:00Z'), offset: 0, limit: 50 }),
      2 * CHANGED + 50,
    ],
    ["a user's list", userList({}), 3 * 51],
    ["a user's list of one project", userList({ projectId: PROJECTS[1]! }), 51 + CONDUCTED],
    ["a later page of a user's list", userList({}, at(50)), 3 * 51],
    ["a user's own calls", userList({}, null, true), 51],
    ["a later page of a user's own calls", userList({}, at(50), true), 51],
    ["a user's call", getUserCall('large', USER, PROJECTS, 'call-7-7', true), 1],
    ['the segments of a project', projectSegments('large', [PROJECTS[0]!]), (DAYS * CALLS_A_DAY) / 20],
    ['a call', getCall('large', 'call-7-7', { ...OPEN_VIEW, anonymize: true }), 1],
  ])('%s uses an index and reads no more rows than needed', async (_, statement, needed) => {
    const scans = await scansOf(statement);
    const ofCalls = scans.filter(({ table }) => table === 'calls');
    expect(ofCalls.length).toBeGreaterThan(0);
    expect(scans.filter(({ type, table }) => type === 'Seq Scan' && table === 'calls')).toEqual([]);
    expect(
      ofCalls.reduce((sum, { rows }) => sum + rows, 0),
      JSON.stringify(ofCalls),
    ).toBeLessThanOrEqual(needed);
  });
});

it('an import discards a cached plan that its connection made for a tiny organization', async () => {
  const fresh = await createDatabase(inject('postgresUrl'), inject('template'));
  const session = await openSession(fresh.url);
  const store = (count: number) =>
    session.query(
      `insert into calls.calls (organization, call_id, call_type, created_at, updated_at, list_item_json, detail_json, detail_hash, record_hash)
        select 'acme', 'call-' || $1 || '-' || n, 'interview', '2025-01-01Z', '2025-01-01Z', '', '', '', '' from generate_series(1, $1::int) n`,
      [count],
    );
  try {
    await session.query('alter table calls.calls set (autovacuum_enabled = false)');
    await store(5);
    await session.query('analyze calls.calls');
    await session.query(`set role crs_calls`);
    await session.query(`set app.organization_id = 'acme'`);
    await session.query(`prepare find as ${findStored('acme', []).text}`);
    // After five custom plans, PostgreSQL may switch to a generic one and cache it.
    for (let i = 0; i < 10; i++) await session.query(`execute find('acme', '{call-5-1}')`);
    await store(5_000);
    await session.query(discardPlans().text);
    const plan = await session.query<{ 'QUERY PLAN': string }>(`explain execute find('acme', '{call-5-1}')`);
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('calls_pkey');
  } finally {
    await session.close();
    await fresh.drop();
  }
});

describe('a plan that is made while the tables are empty', () => {
  // A connection may keep this plan until the tables have millions of rows.
  it.each([
    ['for checking that a call exists', 'select 1 from calls.calls where organization = $1 and call_id = $2 for key share'],
    [
      'for finding the stored row of a repeated line',
      `select 1 from calls.calls where organization = $1 and call_id = $2 limit 1`,
    ],
  ])('%s uses the primary key', async (_, text) => {
    const fresh = await createDatabase(inject('postgresUrl'), inject('template'));
    const empty = await openSession(fresh.url);
    try {
      await empty.query('set plan_cache_mode = force_generic_plan');
      await empty.query(`prepare key (text, text) as ${text}`);
      const plan = await empty.query<{ 'QUERY PLAN': string }>(`explain execute key ('a', 'b')`);
      expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('calls_pkey');
    } finally {
      await empty.close();
      await fresh.drop();
    }
  });
});
