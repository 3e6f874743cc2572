/** Reads whole records for REST, up to the size of a page. */
import * as column from '@crs/kit/data/column';

/** How a statement reads a service's records. */
export interface Records<Row> {
  /** Such as `calls.calls`. */
  table: string;
  /** The column that identifies a record in its organization. */
  key: string;
  columns: column.Columns<Row>;
  /** Returns a select list of the columns, for records `c`. `first` is the number of its first parameter. */
  select: (first: number) => string;
  /** A column that is null for no record. */
  present: keyof Row & string;
  /** The columns whose lengths add up to that of a record. */
  long: readonly (keyof Row & string)[];
}

/** Where a record stands in a page. All other columns are null if the record doesn't fit into the page. */
const MEASURED = {
  /** Null if there is no such record. */
  length: column.bigint.orNull,
  /** Whether the record was read; null without one. */
  fits: column.boolean.orNull,
};

export type Measured<Row> = { [K in keyof Row]: Row[K] | null } & column.RowOf<typeof MEASURED>;

/** The columns of a page's records. */
export function measuredColumns<Row extends object>({ columns }: Records<Row>): column.Columns<Measured<Row>> {
  const nullable = Object.entries<column.Column<unknown>>(columns).map(([name, type]) => [name, type.orNull]);
  return { ...Object.fromEntries(nullable), ...MEASURED } as column.Columns<Measured<Row>>;
}

/** The maximum stored length of a page's records. One record is always returned, whatever its length. */
export const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Whether a page that is too long is rejected or truncated. */
type IfTooLong = 'read none' | 'read the first';

/**
 * Returns SQL that reads a page's records of the organization `$1`, each by its key.
 * @param page name of a subquery with the columns `record_id` (null for a row without a record), `position` (the order) and others
 * @param first number of the first parameter of the select list
 * @param maxBytes an SQL expression. Below 8 MiB, a first record that is longer isn't read either
 * @returns the subquery `measured`, which also has the columns of `page`, and a select list for `from measured m`
 */
export function detailsSql<Row>(
  { table, key, columns, select, present, long }: Records<Row>,
  page: string,
  first: number,
  ifTooLong: IfTooLong,
  maxBytes = String(MAX_PAGE_BYTES),
) {
  // PostgreSQL reads no long text for this: it stores long texts outside the row, and their lengths in it.
  const length = long.map((name) => `coalesce(octet_length(s."${name}"), 0)`).join(' + ');
  const upTo = `s.upto <= ${maxBytes} or s.upto = s.length and ${maxBytes} >= ${MAX_PAGE_BYTES}`;
  const fits = ifTooLong === 'read none' ? `bool_and(s.length is null or ${upTo}) over ()` : `(${upTo})`;
  return {
    measured: `sized as (
      select s.*, (case when s."${present}" is not null then ${length} end)::bigint as length from (
        select p.*, d.* from ${page} p left join lateral (
          select ${select(first)} from ${table} c where c.organization = $1 and c.${key} = p.record_id limit 1
        ) d on true
      ) s
    ),
    summed as (select s.*, sum(s.length) over (order by s.position) as upto from sized s),
    measured as (select s.*, ${fits} as fits from summed s)`,
    columns: `${Object.keys(columns)
      .map((name) => `case when m.fits then m."${name}" end as "${name}"`)
      .join(', ')}, m.length, m.fits`,
  };
}

/** Returns how many of the first records would fit into a page. */
export function countFitting(rows: readonly { length: string | null }[]): number {
  let left = MAX_PAGE_BYTES;
  const end = rows.findIndex(({ length }) => (left -= Number(length)) < 0);
  return end === -1 ? rows.length : Math.max(1, end);
}

/** Returns the rows before the first one whose record doesn't fit into the page. */
export function fitting<Row extends { length: string | null; fits: boolean | null }>(rows: Row[]): Row[] {
  const end = rows.findIndex(({ length, fits }) => length !== null && !fits);
  return end === -1 ? rows : rows.slice(0, end);
}

/** Whether the row has a record, which was read. */
export function isRead<Row>(row: Measured<Row>): row is Measured<Row> & Row {
  return row.length !== null && row.fits === true;
}
