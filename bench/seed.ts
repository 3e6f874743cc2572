/** Creates many calls by SQL for the benchmarks. */
import { load } from '@crs/testing/load';
import pg from 'pg';
import { EMAIL, type System } from './system.ts';

interface Seed {
  organizations: string[];
  /** Number of calls of each organization, spread evenly over the days before `before`. */
  rows: number;
  before: Date;
  days: number;
  /** Number of segments of each call's transcript. */
  turns?: number;
  /** Whether the calls get positions in the feed of changes. */
  feed?: boolean;
}

const TEMPLATE = 'template';
const TEMPLATE_TIME = '2000-01-01T00:00:00.000Z';

/** Returns the id of a seeded call. They are numbered from 1. */
export const seededId = (n: number) => `call_${String(n).padStart(12, '0')}`;

/** Imports one call and duplicates its row by SQL, because the import itself is measured by `bench/import.ts`. */
export async function seedCalls(system: System, { organizations, rows, before, days, turns = 1, feed }: Seed): Promise<void> {
  const [first] = organizations;
  await load(system.operator, [template(first!, turns)]);
  const client = new pg.Client({ connectionString: system.databaseUrl });
  await client.connect();
  const { rows: columns } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
      where table_schema = 'calls' and table_name = 'calls' and is_generated = 'NEVER'`,
  );
  const id = `'call_' || lpad(n::text, 12, '0')`;
  const time = `to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const rewritten = (column: string) => `replace(replace(${column}, '${TEMPLATE}', ${id}), '${TEMPLATE_TIME}', ${time})`;
  const values: Record<string, string> = {
    organization: 'organizations.id',
    call_id: id,
    created_at: 'at',
    date: 'at',
    list_item_json: rewritten('list_item_json'),
    detail_json: rewritten('detail_json'),
  };
  await client.query(
    `insert into calls.calls (${columns.map(({ name }) => name).join(', ')})
      select ${columns.map(({ name }) => values[name] ?? name).join(', ')} from unnest($1::text[]) organizations (id), generate_series(1, $2::int) n,
        lateral (select ($3::timestamptz - (n::float8 / $2 * $4) * interval '1 day')::timestamptz(3) as at) times,
        (select * from calls.calls where organization = $5 and call_id = '${TEMPLATE}') template`,
    [organizations, rows, before, days, first],
  );
  await client.query(`delete from calls.calls where organization = $1 and call_id = '${TEMPLATE}'`, [first]);
  for (const table of ['call_days', 'changes', 'feeds']) {
    await client.query(`delete from calls.${table} where organization = any ($1)`, [organizations]);
  }
  await client.query(
    `insert into calls.call_days select organization, (created_at at time zone 'UTC')::date, count(*) from calls.calls
      where organization = any ($1) group by 1, 2`,
    [organizations],
  );
  if (feed) await seedFeed(client, first!);
  for (const table of ['calls', 'call_days', 'changes', 'feeds']) await client.query(`vacuum analyze calls.${table}`);
  await client.end();
}

function template(organization: string, turns: number): object {
  return {
    type: 'call',
    organization,
    id: TEMPLATE,
    call_type: 'interview',
    call_status: 'done',
    conducted_by: EMAIL,
    created_at: TEMPLATE_TIME,
    date: TEMPLATE_TIME,
    duration_minutes: 45,
    cost: 300,
    rating: 4,
    segment: 'Segment 1',
    source: 'Network 1',
    expert: { name: 'Ada Example', job_title: 'Head of sales', organization: 'Example', country: 'Turkey' },
    summary: 'Summary of what was said in this call. '.repeat(8),
    transcript: Array.from({ length: turns }, (_, n) => ({
      speaker: `Speaker ${n % 2}`,
      start_seconds: n * 7,
      text: `What was said in turn ${n + 1} of this call.`,
    })),
  };
}

/** Gives the oldest calls the first positions. */
async function seedFeed(client: pg.Client, organization: string): Promise<void> {
  const { rowCount } = await client.query(
    `insert into calls.changes select organization, call_id, row_number() over (order by created_at), updated_at, false from calls.calls
      where organization = $1`,
    [organization],
  );
  await client.query(`insert into calls.feeds (organization, secret, position) values ($1, sha256('bench'), $2)`, [
    organization,
    rowCount,
  ]);
}
