import { encode } from '@crs/calls/stored-json';
import pg from 'pg';

/** Calls to write, spread evenly over the days before an instant. */
export interface Seed {
  organization: string;
  rows: number;
  before: Date;
  days: number;
  /** Turns of each call's verbatim transcript; 0: only the mark that there is one. */
  turns?: number;
}

const SUMMARY = 'Summary of what was said in this call. '.repeat(8);
const AT = new Date(0);
const VALUES = ['id', 'type', 'at', 'minutes', 'segment', 'source', 'cost', 'rating', 'name', 'title', 'employer', 'country'];
const value = (name: string) => `%${VALUES.indexOf(name) + 1}$s`;
const numeral = (name: string) => value(name) as unknown as number;

/** The stored texts of the seeded calls, as formats of {@link VALUES}. */
export function storedTexts(turns: number) {
  const record = {
    deleted: false as const,
    organization: '',
    callId: value('id'),
    projectId: null,
    callType: value('type') as 'interview',
    callStatus: 'done' as const,
    anonymityStatus: null,
    date: AT,
    durationMinutes: numeral('minutes'),
    cost: numeral('cost'),
    rating: numeral('rating'),
    segment: value('segment'),
    source: value('source'),
    country: value('country'),
    jobTitle: value('title'),
    employer: value('employer'),
    name: value('name'),
    anonymizedName: null,
    bio: null,
    language: null,
    summary: SUMMARY,
    ktas: null,
    ktaApprovalStatus: null,
    participants: [],
    qaBlocks: [],
    createdAt: AT,
    conductedBy: null,
    notes: [],
    transcripts: [
      {
        kind: 'verbatim' as const,
        content: Array.from({ length: turns }, (_, n) => ({
          speaker: `Speaker ${n % 2}`,
          start_seconds: n * 7,
          text: `What was said in turn ${n + 1} of this call.`,
        })),
      },
    ],
  };
  const numbers = new RegExp(
    `"(%(?:${['minutes', 'cost', 'rating'].map((name) => VALUES.indexOf(name) + 1).join('|')})\\$s)"`,
    'g',
  );
  const { listItem, detail, transcripts } = encode(record);
  const formatOf = (aroundTimes: [string, string]) =>
    aroundTimes
      .join(`,"created_at":"${value('at')}","updated_at":"${value('at')}"`)
      .replaceAll(AT.toISOString(), value('at'))
      .replaceAll(numbers, '$1');
  return { ...transcripts, listItem: formatOf(listItem), detail: formatOf(detail) };
}

/** SQL that fills a text of {@link storedTexts} in, for the call `n` at the time `at`. @param text the number of the parameter that holds it */
export function textSql(text: number): string {
  return `format($${text}, 'call_' || lpad(n::text, 12, '0'), case when n % 5 = 0 then 'meeting' else 'interview' end,
    to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 30 + n % 60, 'Segment ' || n % 7, 'Network ' || n % 5, n % 900, 1 + n % 5,
    'Expert ' || n % 5000, 'Head of ' || n % 300, 'Company ' || n % 2000, 'Country ' || n % 60)`;
}

/** Writes calls by SQL, because the import has a benchmark of its own. */
export async function seedCalls(databaseUrl: string, { organization, rows, before, days, turns = 0 }: Seed): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { listItem, detail, verbatim, verbatimSegments } = storedTexts(turns);
  const transcript = turns > 0 ? [verbatim, verbatimSegments] : [null, null];
  await client.query(
    `insert into calls.calls (organization, call_id, call_type, call_status, created_at, updated_at, date, duration_minutes, segment, source,
        segment_folded, source_folded, cost, rating, name, job_title, employer, country, shown_hash, record_hash, list_item_json, detail_json, verbatim,
        verbatim_segments)
      select $1, 'call_' || lpad(n::text, 12, '0'), case when n % 5 = 0 then 'meeting' else 'interview' end, 'done', at, now(), at, 30 + n % 60,
        'Segment ' || n % 7, 'Network ' || n % 5, 'segment ' || n % 7, 'network ' || n % 5, n % 900, 1 + n % 5, 'Expert ' || n % 5000,
        'Head of ' || n % 300, 'Company ' || n % 2000, 'Country ' || n % 60,
        sha256(n::text::bytea), sha256(n::text::bytea), ${textSql(5)}, ${textSql(6)}, $7, $8
      from generate_series(1, $2::int) n, lateral (select ($3::timestamptz - (n::float8 / $2 * $4) * interval '1 day')::timestamptz(3) as at) t`,
    [organization, rows, before, days, listItem, detail, ...transcript],
  );
  await client.query(
    `insert into calls.call_days select organization, (created_at at time zone 'UTC')::date, count(*) from calls.calls
      where organization = $1 group by 1, 2`,
    [organization],
  );
  await client.query('vacuum analyze calls.calls');
  await client.query('vacuum analyze calls.call_days');
  await client.end();
}

/** Gives the calls of an organization places in its feed. */
export async function seedFeed(databaseUrl: string, organization: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rowCount } = await client.query(
    `insert into calls.changes select organization, call_id, row_number() over (order by call_id), updated_at, false from calls.calls
      where organization = $1`,
    [organization],
  );
  await client.query(
    `insert into calls.feeds (organization, secret, place) values ($1, sha256('bench'), $2)
      on conflict (organization) do update set place = excluded.place`,
    [organization, rowCount],
  );
  for (const table of ['changes', 'feeds']) await client.query(`vacuum analyze calls.${table}`);
  await client.end();
}

/** Gives the first calls of an organization to others, too: to `<prefix>1`, `<prefix>2` and so on. */
export async function copyCalls(
  databaseUrl: string,
  { from, prefix, organizations, calls }: { from: string; prefix: string; organizations: number; calls: number },
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ list: string }>(
    `select string_agg(column_name, ', ') as list from information_schema.columns
      where table_schema = 'calls' and table_name = 'calls' and is_generated = 'NEVER' and column_name <> 'organization'`,
  );
  await client.query(
    `insert into calls.calls (organization, ${rows[0]!.list}) select $1 || n, ${rows[0]!.list}
      from generate_series(1, $2::int) n, (select * from calls.calls where organization = $3 order by call_id limit $4) c`,
    [prefix, organizations, from, calls],
  );
  await client.query(
    `insert into calls.call_days select organization, (created_at at time zone 'UTC')::date, count(*) from calls.calls
      where starts_with(organization, $1) group by 1, 2`,
    [prefix],
  );
  await client.query('vacuum analyze calls.calls');
  await client.query('vacuum analyze calls.call_days');
  await client.end();
}
