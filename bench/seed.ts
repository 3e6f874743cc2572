import pg from 'pg';

/** Calls to write, spread evenly over the days before an instant. */
export interface Seed {
  organization: string;
  rows: number;
  before: Date;
  days: number;
}

/** Writes calls by SQL, because the import has a benchmark of its own. */
export async function seedCalls(databaseUrl: string, { organization, rows, before, days }: Seed): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `insert into calls.calls (organization, call_id, call_type, call_status, created_at, updated_at, date, duration_minutes, segment, source,
        segment_folded, source_folded, cost, rating, name, job_title, employer, country, summary, participants, qa_blocks, has_verbatim,
        shown_hash, record_hash)
      select $1, 'call_' || lpad(n::text, 12, '0'), case when n % 5 = 0 then 'meeting' else 'interview' end, 'done', at, now(), at, 30 + n % 60,
        'Segment ' || n % 7, 'Network ' || n % 5, 'segment ' || n % 7, 'network ' || n % 5, n % 900, 1 + n % 5, 'Expert ' || n % 5000,
        'Head of ' || n % 300, 'Company ' || n % 2000, 'Country ' || n % 60, repeat('Summary of what was said in this call. ', 8), '[]', '[]', true,
        sha256(n::text::bytea), sha256(n::text::bytea)
      from generate_series(1, $2::int) n, lateral (select ($3::timestamptz - (n::float8 / $2 * $4) * interval '1 day')::timestamptz(3) as at) t`,
    [organization, rows, before, days],
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
