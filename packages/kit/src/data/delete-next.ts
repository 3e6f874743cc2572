import * as column from './column.ts';
import type { Statement } from './database.ts';

/** The rows that one statement deletes. Others wait for no more than these. */
export const ROWS_AT_ONCE = 1_000;

/** The row of a statement that forgets up to {@link ROWS_AT_ONCE} old rows. No row: nothing is old enough. */
export const FORGOTTEN = { forgotten: column.integer };

const DELETED = { last: column.text.orNull, rows: column.integer };
export type Deleted = column.RowOf<typeof DELETED>;

/**
 * A statement that deletes the next rows of an organization in the order of a column, and tells the last one and their number. The next statement begins
 * at that one: it doesn't pass the deleted rows before it again.
 */
export function deleteNext({
  name,
  table,
  key,
  where = '',
}: {
  name: string;
  table: string;
  /** A column of text or uuid, the second one of the primary key. */
  key: string;
  /** A further condition, which begins with `and`. */
  where?: string;
}): (organization: string, from: string) => Statement<Deleted> {
  const text = `with next as (
      select ${key} as id from ${table} where organization = $1 and ${key} >= $2 ${where} order by ${key} limit ${ROWS_AT_ONCE}),
    gone as (delete from ${table} t using next where t.organization = $1 and t.${key} = next.id returning 1)
    select (select id::text from next order by id desc limit 1) as last, (select count(*)::int from gone) as rows`;
  return (organization, from) => ({ name, row: DELETED, text, values: [organization, from] });
}
