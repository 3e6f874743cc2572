import { hash } from 'node:crypto';
import type { Query } from '@crs/kit/data/database';
import type { PoolClient } from 'pg';
import { copyRows, formatRow, type Cell } from './copy.ts';
import { fold } from '@crs/kit/text';
import type { CallRecord } from '../domain/call-record.ts';

/** What is kept of a record until it is written: its references, and the rows that it makes as far as they don't depend on what is stored. */
export interface PreparedCall {
  deleted: false;
  organization: string;
  callId: string;
  createdAt: Date | null;
  projectId: string | null;
  conductedBy: string | null;
  notes: CallRecord['notes'];
  /** Of `calls`, the columns of {@link OWN}, as COPY takes them. */
  row: string;
  /** Rows of `transcripts`. */
  transcripts: string[];
}

/** A record whose references are ids. */
export interface ResolvedCall extends Omit<PreparedCall, 'notes'> {
  notes: { userId: string; text: string }[];
  lineHash: string;
}

/** What is stored of a call that an import touches. */
export interface StoredCall {
  callId: string;
  createdAt: Date;
  updatedAt: Date;
  recordHash: string;
  shownHash: string;
}

/** A call to be written, with the times that it gets. */
export interface CallWrite extends ResolvedCall {
  createdAt: Date;
  updatedAt: Date;
  recordHash: string;
  shownHash: string;
}

/** For the transaction. A table that was tiny when it was last analyzed is read whole, also when it has grown since, as an import makes it. */
export async function preferIndexes(query: Query): Promise<void> {
  await query({ name: 'prefer_indexes', text: `select set_config('enable_seqscan', 'off', true)` });
}

/**
 * One import of an organization writes at a time: what is read before writing then holds, and the rollup's rows can't deadlock.
 * Held until the transaction ends. @returns the time from when it is held, so that later writes bear later times
 */
export async function lockImports(query: Query, organization: string): Promise<Date> {
  await query({
    name: 'lock_imports',
    text: `select pg_advisory_xact_lock(hashtextextended('calls.import:' || $1, 0))`,
    values: [organization],
  });
  const [row] = await query<{ now: Date }>({
    name: 'import_time',
    text: `select date_trunc('milliseconds', clock_timestamp()) as now`,
  });
  return row!.now;
}

/**
 * A call by its key, once for each that is asked for. In a join, or by `= any`, the planner may prefer another index and walk all of
 * the organization in it, as it does while a first import goes on and nothing has been analyzed yet.
 */
const BY_KEY = `select * from calls.calls where organization = $1 and call_id = asked.call_id collate "C" limit 1`;

export function findStored(query: Query, organization: string, callIds: string[]): Promise<StoredCall[]> {
  return query<StoredCall>({
    name: 'find_stored_calls',
    text: `select c.call_id as "callId", created_at as "createdAt", updated_at as "updatedAt",
        encode(record_hash, 'hex') as "recordHash", encode(shown_hash, 'hex') as "shownHash"
      from unnest($2::text[]) as asked (call_id) cross join lateral (${BY_KEY}) c`,
    values: [organization, callIds],
  });
}

/** Of all that is stored of a call, and of what the REST detail can show of it: `updated_at` moves with the latter alone. */
export function hashesOf(
  { row, transcripts, conductedBy, notes }: ResolvedCall,
  createdAt: Date,
): { recordHash: string; shownHash: string } {
  const shownHash = hash('sha256', [createdAt.getTime(), row, ...transcripts].join('\n'));
  // Notes are stored in no order.
  const byUser = notes.toSorted((a, b) => (a.userId < b.userId ? -1 : 1));
  return { shownHash, recordHash: hash('sha256', JSON.stringify([shownHash, conductedBy, byUser])) };
}

/** Hexadecimal, as all hashes here. Of a line as it came: where it is that of the stored call, there is nothing to read in it. */
export function lineHashOf(line: Uint8Array): string {
  return hash('sha256', line);
}

/** Which lines, by position, are just what their call was last imported from. */
export async function findRepeated(
  query: Query,
  organization: string,
  lines: { id: string; lineHash: string }[],
): Promise<Set<number>> {
  const rows = await query<{ position: number }>({
    name: 'find_repeated_lines',
    text: `select asked.position::int - 1 as position
      from unnest($2::text[], $3::text[]) with ordinality as asked (call_id, line_hash, position)
      cross join lateral (${BY_KEY}) c where c.line_hash = decode(asked.line_hash, 'hex')`,
    values: [organization, lines.map((line) => line.id), lines.map((line) => line.lineHash)],
  });
  return new Set(rows.map((row) => row.position));
}

/** Columns that a record fills by itself. */
const OWN = [
  'call_id', 'project_id', 'call_type', 'call_status', 'anonymity_status', 'date', 'duration_minutes', 'cost', 'rating', 'segment',
  'source', 'country', 'job_title', 'employer', 'segment_folded', 'source_folded', 'country_folded', 'job_title_folded',
  'employer_folded', 'name', 'anonymized_name', 'bio', 'language', 'summary', 'ktas', 'kta_approval_status', 'participants',
  'qa_blocks', 'has_verbatim',
] as const; // prettier-ignore
/** Columns that depend on references and on what is stored. */
const GIVEN = ['conducted_by', 'created_at', 'updated_at', 'shown_hash', 'record_hash', 'line_hash'] as const;
const COLUMNS = [...OWN, ...GIVEN];

const STAGED = {
  calls: COLUMNS,
  transcripts: ['call_id', 'kind', 'text', 'segments'],
  notes: ['call_id', 'user_id', 'text'],
} as const;

/** What of writing a call can be done before anything is locked: most of the work. */
export function prepare(record: CallRecord): PreparedCall {
  const { interviewee, organization, callId, createdAt, projectId, conductedBy, notes } = record;
  const values: Record<(typeof OWN)[number], Cell> = {
    call_id: record.callId,
    project_id: record.projectId,
    call_type: record.callType,
    call_status: record.callStatus,
    anonymity_status: record.anonymityStatus,
    date: record.date,
    duration_minutes: record.durationMinutes,
    cost: record.cost,
    rating: record.rating,
    segment: record.segment,
    source: record.source,
    country: interviewee.country,
    job_title: interviewee.jobTitle,
    employer: interviewee.organization,
    segment_folded: foldOrNull(record.segment),
    source_folded: foldOrNull(record.source),
    country_folded: foldOrNull(interviewee.country),
    job_title_folded: foldOrNull(interviewee.jobTitle),
    employer_folded: foldOrNull(interviewee.organization),
    name: interviewee.name,
    anonymized_name: record.anonymizedName,
    bio: interviewee.bio,
    language: record.language,
    summary: record.summary,
    ktas: record.keyTakeaways,
    kta_approval_status: record.keyTakeawaysStatus,
    participants: record.participants,
    qa_blocks: record.qaBlocks,
    has_verbatim: record.transcripts.some(({ kind }) => kind === 'verbatim'),
  };
  return {
    deleted: false,
    organization,
    callId,
    createdAt,
    projectId,
    conductedBy,
    notes,
    row: formatRow(OWN.map((column) => values[column])),
    transcripts: record.transcripts.map(({ kind, text, segments }) => formatRow([callId, kind, text, segments])),
  };
}

function foldOrNull(text: string | null): string | null {
  return text === null ? null : fold(text);
}

/** Deletes calls with all that hangs on them. */
export async function deleteCalls(query: Query, organization: string, callIds: string[]): Promise<void> {
  await query({
    name: 'delete_calls',
    text: 'delete from calls.calls where organization = $1 and call_id = any($2)',
    values: [organization, callIds],
  });
}

/** Writes whole calls; lists of calls that were there are replaced. Under row-level security COPY reaches temporary tables only. */
export async function writeCalls(
  query: Query,
  connection: PoolClient,
  organization: string,
  writes: CallWrite[],
  replaced: string[],
): Promise<void> {
  const list = COLUMNS.join(', ');
  const rows = writes.map(({ row, conductedBy, createdAt, updatedAt, shownHash, recordHash, lineHash }) => {
    const hashes = [shownHash, recordHash, lineHash].map((hex) => `\\\\x${hex}`).join('\t');
    return `${row}\t${formatRow([conductedBy, createdAt, updatedAt])}\t${hashes}`;
  });
  await stage(query, connection, 'calls', rows);
  await query(
    replaced.length === 0
      ? {
          name: 'insert_calls',
          text: `insert into calls.calls (organization, ${list}) select $1, ${list} from staged_calls`,
          values: [organization],
        }
      : { name: 'upsert_calls', text: UPSERT, values: [organization] },
  );
  if (replaced.length > 0) {
    for (const table of ['transcripts', 'notes']) {
      await query({
        name: `clear_${table}`,
        text: `delete from calls.${table} where organization = $1 and call_id = any($2)`,
        values: [organization, replaced],
      });
    }
  }
  const transcripts = writes.flatMap((write) => write.transcripts);
  if (transcripts.length > 0) {
    await stage(query, connection, 'transcripts', transcripts);
    await query({
      name: 'insert_transcripts',
      text: `insert into calls.transcripts (organization, call_id, kind, text, segments)
        select $1, call_id, kind, text, segments from staged_transcripts`,
      values: [organization],
    });
  }
  const notes = writes.flatMap(({ callId, notes: texts }) => texts.map(({ userId, text }) => [callId, userId, text]));
  if (notes.length > 0) {
    await stage(query, connection, 'notes', notes);
    await query({
      name: 'insert_notes',
      text: 'insert into calls.notes (organization, call_id, user_id, text) select $1, call_id, user_id, text from staged_notes',
      values: [organization],
    });
  }
}

const UPSERT = `insert into calls.calls (organization, ${COLUMNS.join(', ')}) select $1, ${COLUMNS.join(', ')} from staged_calls
  on conflict (organization, call_id) do update set ${COLUMNS.slice(1)
    .map((column) => `${column} = excluded.${column}`)
    .join(', ')}`;

/** Puts rows into the temporary table that goes with a table. */
async function stage(query: Query, connection: PoolClient, table: keyof typeof STAGED, rows: (Cell[] | string)[]): Promise<void> {
  const columns = STAGED[table];
  await query({
    name: `stage_${table}`,
    text: `create temporary table if not exists staged_${table} on commit delete rows as select ${columns.join(', ')} from calls.${table} with no data`,
  });
  await copyRows(connection, `staged_${table}`, columns, rows);
}

/** Moves the rollup by these differences, by UTC day (`YYYY-MM-DD`). */
export async function moveDays(query: Query, organization: string, differences: Map<string, number>): Promise<void> {
  const moved = [...differences].filter(([, difference]) => difference !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (moved.length === 0) return;
  const values = [organization, moved.map(([day]) => day), moved.map(([, difference]) => difference)];
  await query({
    name: 'open_call_days',
    text: `insert into calls.call_days (organization, day, calls) select $1, unnest($2::date[]), 0 on conflict do nothing`,
    values: values.slice(0, 2),
  });
  await query({
    name: 'move_call_days',
    text: `update calls.call_days d set calls = d.calls + moved.difference
      from unnest($2::date[], $3::int[]) as moved (day, difference) where d.organization = $1 and d.day = moved.day`,
    values,
  });
}
