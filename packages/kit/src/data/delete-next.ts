import * as column from './column.ts';
import type { Statement } from './database.ts';

/** The rows that one statement deletes, which bounds how long other work waits for its locks. */
export const ROWS_AT_ONCE = 1_000;

/** The result of a statement that deletes up to {@link ROWS_AT_ONCE} expired rows. No row means 0. */
export const PRUNED = { pruned: column.integer };

const DELETED = { last: column.text.orNull, rows: column.integer };
export type Deleted = column.RowOf<typeof DELETED>;

/**
 * Returns a statement that deletes an organization's next rows in key order, and returns the last key and the count. The next statement starts from that
 * key, so that it doesn't scan the dead rows before it again.
 */
export function deleteNext({
  name,
  table,
  key,
  where = '',
}: {
  name: string;
  table: string;
  /** A column of type text or uuid, the second one of the primary key. */
  key: string;
  /** A further condition that starts with `and`. */
  where?: string;
}): (organization: string, from: string) => Statement<Deleted> {
  const text = `with next as (
      select ${key} as id from ${table} where organization = $1 and ${key} >= $2 ${where} order by ${key} limit ${ROWS_AT_ONCE}),
    gone as (delete from ${table} t using next where t.organization = $1 and t.${key} = next.id returning 1)
    select (select id::text from next order by id desc limit 1) as last, (select count(*)::int from gone) as rows`;
  return (organization, from) => ({ name, row: DELETED, text, values: [organization, from] });
}
