/** The ledger of erasures, which also holds the state of an erasure that is under way. It has digests in place of people and of calls' ids. */
import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { deleteNext } from '@crs/kit/data/delete-next';

const ENTRY = {
  erasureId: column.uuid,
  at: column.timestamp,
  operator: column.text,
  kind: column.oneOf<'person' | 'calls'>(),
  salt: column.text,
  email: column.text.orNull,
  names: column.textArray,
  employer: column.text.orNull,
  changed: column.integer,
  deleted: column.integer,
  held: column.integer,
  /** The last call that was looked at. Null: the erasure is complete. */
  reached: column.text.orNull,
  completedAt: column.timestamp.orNull,
};
export type ErasureRow = column.RowOf<typeof ENTRY>;

const COLUMNS = column.selectList(ENTRY, 'e');
const LISTED = { ...ENTRY, count: column.integer };
export type ListedErasure = column.RowOf<typeof LISTED>;

/** The longest page of a list. */
const ROWS = 1_000;

/** Lists erasures after another one, oldest first, with the number of their calls. @param since leaves out those that were complete by then */
export function listErasures(
  organization: string,
  { since, after }: { since: Date; after: string | null },
): Statement<ListedErasure> {
  return {
    name: 'list_erasures',
    row: LISTED,
    text: `select ${COLUMNS}, (select count(*)::int from calls.erased_calls c where c.organization = $1 and c.erasure_id = e.erasure_id and not c.held) as count
      from calls.erasures e where e.organization = $1
        and (e.at >= $2 or e.completed_at is null or e.completed_at >= $2) and ($3::uuid is null or (e.at, e.erasure_id) >
        ((select at from calls.erasures where organization = $1 and erasure_id = $3), $3::uuid))
      order by e.at, e.erasure_id limit ${ROWS + 1}`,
    values: [organization, since, after],
  };
}

/** A page of rows. Its statement reads one row more than fits, which says whether there is another page. */
export function pageOf<Row>(rows: Row[], atMost = ROWS): { rows: Row[]; more: boolean } {
  return { rows: rows.slice(0, atMost), more: rows.length > atMost };
}

/** Finds an erasure. With `lock`, nobody else continues it until the transaction ends. */
export function findErasure(organization: string, erasureId: string, lock?: 'lock'): Statement<ErasureRow> {
  return {
    name: lock ? 'lock_erasure' : 'find_erasure',
    row: ENTRY,
    text: `select ${COLUMNS} from calls.erasures e where e.organization = $1 and e.erasure_id = $2${lock ? ' for update' : ''}`,
    values: [organization, erasureId],
  };
}

/** Lists the erasures of a kind that aren't complete. */
export function findUnfinished(organization: string, kind: ErasureRow['kind']): Statement<ErasureRow> {
  return {
    name: 'find_unfinished_erasures',
    row: ENTRY,
    text: `select ${COLUMNS} from calls.erasures e where e.organization = $1 and e.kind = $2 and e.reached is not null order by e.at`,
    values: [organization, kind],
  };
}

export type NewErasure = Pick<ErasureRow, 'erasureId' | 'at' | 'operator' | 'kind' | 'salt' | 'email' | 'names' | 'employer'>;

/** Enters an erasure, or has one that is there already begin again at the first call. */
export function beginErasure(organization: string, entry: NewErasure): Statement {
  const { erasureId, at, operator, kind, salt, email, names, employer } = entry;
  return {
    name: 'begin_erasure',
    text: `insert into calls.erasures (organization, erasure_id, at, operator, kind, salt, email, names, employer, reached)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, '')
      on conflict (organization, erasure_id) do update set reached = '', changed = 0, deleted = 0, held = 0, completed_at = null`,
    values: [organization, erasureId, at, operator, kind, salt, email, names, employer],
  };
}

/** Records how far an erasure has come. */
export function advanceErasure(
  organization: string,
  { erasureId, changed, deleted, held, reached, completedAt }: ErasureRow,
): Statement {
  return {
    name: 'advance_erasure',
    text: `update calls.erasures set changed = $3, deleted = $4, held = $5, reached = $6, completed_at = $7
      where organization = $1 and erasure_id = $2`,
    values: [organization, erasureId, changed, deleted, held, reached, completedAt],
  };
}

const CALL = { callDigest: column.text, held: column.boolean };

/** Adds calls to an erasure: those that it changed or deleted, or those that a legal hold kept. */
export function addErasedCalls(organization: string, erasureId: string, digests: string[], held: boolean): Statement {
  return {
    name: 'add_erased_calls',
    text: `insert into calls.erased_calls (organization, erasure_id, call_digest, held) select $1, $2, unnest($3::text[]), $4
      on conflict do nothing`,
    values: [organization, erasureId, digests, held],
  };
}

/** Finds those of the digests that are an erasure's calls. */
export function findErasedCalls(
  organization: string,
  erasureId: string,
  digests: string[],
): Statement<column.RowOf<typeof CALL>> {
  return {
    name: 'find_erased_calls',
    row: CALL,
    text: `select call_digest as "callDigest", held from calls.erased_calls
      where organization = $1 and erasure_id = $2 and call_digest = any($3)`,
    values: [organization, erasureId, digests],
  };
}

/** The calls of one response, and of one request that restores an erasure. */
export const ERASED_CALLS_AT_ONCE = 10_000;

export function listErasedCalls(organization: string, erasureId: string, after: string): Statement<column.RowOf<typeof CALL>> {
  return {
    name: 'list_erased_calls',
    row: CALL,
    text: `select call_digest as "callDigest", held from calls.erased_calls
      where organization = $1 and erasure_id = $2 and call_digest > $3 order by call_digest limit ${ERASED_CALLS_AT_ONCE + 1}`,
    values: [organization, erasureId, after],
  };
}

const TOTAL = { total: column.integer };

export function countCalls(organization: string): Statement<column.RowOf<typeof TOTAL>> {
  return {
    name: 'count_calls',
    row: TOTAL,
    text: 'select coalesce(sum(calls), 0)::int as total from calls.call_days where organization = $1',
    values: [organization],
  };
}

/** For the deletion of an organization. */
export const eraseErasedCalls = deleteNext({ name: 'erase_all_erased_calls', table: 'calls.erased_calls', key: 'call_digest' });
