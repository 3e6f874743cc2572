import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import type { PoolClient } from 'pg';
import type { CallWrite, Changes, PreparedCall, StoredCall } from '../domain/changes.ts';
import { copyRows, formatRow } from './copy.ts';
import { AROUND_TIMES, OF_LINE } from './prepare-call.ts';

/**
 * Makes the connection plan its statements again, including foreign-key checks. It would keep a plan that was made for a tiny table until the
 * table is analyzed, and such a plan reads the whole organization for each row.
 */
export function discardPlans(): Statement {
  return { name: 'discard_plans', text: 'discard plans' };
}

/**
 * Reads each call by its key. For a join or `= any`, the planner may choose another index and read the whole organization, until the table is
 * first analyzed.
 */
export const BY_KEY = `select * from calls.calls where organization = $1 and call_id = wanted.call_id collate "C" limit 1`;

const FOUND = {
  callId: column.text,
  projectId: column.uuid.orNull,
  createdAt: column.timestamp,
  updatedAt: column.timestamp,
  recordHash: column.bytes,
  detailHash: column.bytes,
};
const FIND_STORED = `select ${column.selectList(FOUND, 'c')} from unnest($2::text[]) as wanted (call_id) cross join lateral (${BY_KEY}) c`;

export function findStored(organization: string, callIds: string[]): Statement<StoredCall> {
  return { name: 'find_stored_calls', row: FOUND, text: FIND_STORED, values: [organization, callIds] };
}

const REPEATED = { callId: column.text };
const FIND_REPEATED = `select ${column.selectList(REPEATED, 'c')} from unnest($2::text[], $3::bytea[]) as wanted (call_id, line_hash)
  cross join lateral (${BY_KEY}) c where c.line_hash = wanted.line_hash`;

/** Finds the calls that were last imported from the line with this hash. */
export function findRepeated(
  organization: string,
  callIds: string[],
  lineHashes: Buffer[],
): Statement<column.RowOf<typeof REPEATED>> {
  return { name: 'find_repeated_lines', row: REPEATED, text: FIND_REPEATED, values: [organization, callIds, lineHashes] };
}

/** Columns that aren't staged, because they depend on references, on what is stored, or on the line's bytes. */
const GIVEN = {
  position: 'integer',
  conductedBy: 'uuid',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  detailHash: 'bytea',
  recordHash: 'bytea',
  lineHash: 'bytea',
} as const;
const GIVEN_NAMES = Object.keys(GIVEN) as (keyof typeof GIVEN)[];
const [, ...GIVEN_COLUMNS] = GIVEN_NAMES.map(column.snakeCase);

export function deleteCalls(organization: string, callIds: string[]): Statement {
  return {
    name: 'delete_calls',
    text: 'delete from calls.calls where organization = $1 and call_id = any($2)',
    values: [organization, callIds],
  };
}

export interface StagedRow extends Pick<PreparedCall, 'row'> {
  /** The position among the staged calls of the batch, which identifies the row. */
  position: number;
}

/** Copies calls of a batch into a temporary table. */
export function stageCalls(query: Query, connection: PoolClient, calls: readonly StagedRow[]): Promise<void> {
  const rows = calls.map(({ row, position }) => [Buffer.from(`${position}\t`), row]);
  const columns = ['position', ...OF_LINE, ...AROUND_TIMES];
  const like = `select 0 as position, ${OF_LINE.join(', ')}, ${AROUND_TIMES.map((name) => `'' as ${name}`).join(', ')} from calls.calls`;
  return stage(query, connection, { table: 'calls', like, columns, rows });
}

const WRITTEN = [...OF_LINE, ...GIVEN_COLUMNS, 'list_item_json', 'detail_json'];
/** Citus refuses to insert rows of a query into a table with row-level security, unless the insert says what to do about conflicts. */
const UPSERT = `insert into calls.calls (organization, ${WRITTEN.join(', ')})
  select $1, ${[...OF_LINE, ...GIVEN_COLUMNS].join(', ')}, list_item_before || times || list_item_after, detail_before || times || detail_after
    from unnest($2::text[], ${Object.values(GIVEN)
      .map((type, i) => `$${i + 3}::${type}[]`)
      .join(', ')})
      as given (times, ${GIVEN_NAMES.map(column.snakeCase).join(', ')}) join staged_calls using (position)
  on conflict (organization, call_id) do update set ${WRITTEN.slice(1)
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

/** Returns the times of a call as members of its list item and detail. */
function timesOf({ createdAt, updatedAt }: CallWrite): string {
  return `,"created_at":"${createdAt.toISOString()}","updated_at":"${updatedAt.toISOString()}"`;
}

/** Writes staged calls, and replaces their notes. */
export async function writeCalls(
  query: Query,
  connection: PoolClient,
  organization: string,
  { writes, replaced }: Pick<Changes, 'writes' | 'replaced'>,
): Promise<void> {
  const given = GIVEN_NAMES.map((name) => writes.map((write) => write[name]));
  await query({ name: 'upsert_calls', text: UPSERT, values: [organization, writes.map(timesOf), ...given] });
  if (replaced.length > 0) {
    await query({
      name: 'clear_notes',
      text: 'delete from calls.notes where organization = $1 and call_id = any($2)',
      values: [organization, replaced],
    });
  }
  if (writes.some(({ notes }) => notes.length > 0)) {
    const columns = ['call_id', 'user_id', 'text'];
    await stage(query, connection, {
      table: 'notes',
      like: `select ${columns.join(', ')} from calls.notes`,
      columns,
      rows: noteRows(writes),
    });
    await query({
      name: 'insert_notes',
      text: `insert into calls.notes (organization, call_id, user_id, text)
        select $1, call_id, user_id, text from staged_notes on conflict do nothing`,
      values: [organization],
    });
    // A later segment of the batch stages its own.
    await query({ name: 'clear_staged_notes', text: 'delete from staged_notes' });
  }
}

function* noteRows(writes: readonly CallWrite[]): Generator<Uint8Array[]> {
  for (const { callId, notes } of writes) {
    for (const { userId, text } of notes) yield [Buffer.from(`${formatRow([callId, userId])}\t`), text];
  }
}

interface Staged {
  table: 'calls' | 'notes';
  /** A query with the columns of the temporary table. */
  like: string;
  columns: readonly string[];
  rows: Iterable<readonly Uint8Array[]>;
}

/**
 * Copies rows into the temporary table `staged_<table>`, because COPY into a table with row-level security isn't allowed. Compresses only rows that
 * exceed a page, because each is soon read and compressed again.
 */
async function stage(query: Query, connection: PoolClient, { table, like, columns, rows }: Staged): Promise<void> {
  const text = `create temporary table if not exists staged_${table} with (toast_tuple_target = 8160)
    on commit delete rows as ${like} with no data`;
  await query({ name: `stage_${table}`, text });
  await copyRows(connection, `staged_${table}`, columns, rows);
}

/** Adds the differences by UTC day (`YYYY-MM-DD`) to the rollup. */
export async function moveDays(query: Query, organization: string, differences: Map<string, number>): Promise<void> {
  const moved = [...differences].filter(([, difference]) => difference !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (moved.length === 0) return;
  const days = moved.map(([day]) => day);
  await query({
    name: 'open_call_days',
    text: `insert into calls.call_days (organization, day, calls) select $1, unnest($2::date[]), 0 on conflict do nothing`,
    values: [organization, days],
  });
  await query({
    name: 'move_call_days',
    text: `update calls.call_days d set calls = d.calls + moved.difference
      from unnest($2::date[], $3::int[]) as moved (day, difference) where d.organization = $1 and d.day = moved.day`,
    values: [organization, days, moved.map(([, difference]) => difference)],
  });
}
