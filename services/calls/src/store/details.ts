/** Reads calls for REST, up to the size of a page and without hidden transcripts. Rendering leaves out other hidden fields. */
import * as column from '@crs/kit/data/column';
import { STORED } from '../domain/columns.ts';
import type { DetailRow, DetailView } from '../domain/stored-json/index.ts';
import { kindsOf, renames } from '../domain/view.ts';

export interface Seen extends Pick<DetailView, 'mask' | 'include'> {
  anonymize: boolean;
}

/** The columns of a call as REST reads it. */
export const CALL = { ...STORED, interviewee: column.text.orNull };

/** Returns the parameters of {@link callColumns}. `renamed`: the caller sees another name than the recorded one. */
export function callParameters(seen: Seen): [verbatim: boolean, redacted: boolean, clean: boolean, renamed: boolean] {
  const kinds = kindsOf(seen);
  return [kinds.has('verbatim'), kinds.has('redacted'), kinds.has('clean'), renames(seen.mask, seen.anonymize)];
}

/**
 * Returns the select list of {@link CALL} for calls `c`.
 * @param first number of the first of the four parameters that `callParameters` makes
 */
export function callColumns(first: number): string {
  const when = (condition: string, name: string, value = `c.${column.snakeCase(name)}`) =>
    `case when ${condition} then ${value} end as "${name}"`;
  const verbatim = `$${first}::boolean`;
  const redacted = `$${first + 1}::boolean and c.anonymity_status = 'complete'`;
  return [
    'c.detail_json as "detailJson"',
    when(`$${first + 2}::boolean`, 'clean'),
    when(`$${first + 3}::boolean`, 'interviewee', 'json_build_array(c.name, c.employer, c.anonymized_name)::text'),
    when(verbatim, 'verbatim'),
    when(verbatim, 'verbatimSegments'),
    when(redacted, 'redacted'),
    when(redacted, 'redactedSegments'),
  ].join(', ');
}

/** A page's calls. All columns but `length` are null if the call doesn't fit into the page; `length` is null if the call doesn't exist. */
export const DETAILS = { ...CALL, detailJson: column.text.orNull, length: column.bigint.orNull };

type PageRow = column.RowOf<typeof DETAILS>;

/** Returns the call of a row, or undefined if it wasn't read. */
export function callOf(row: PageRow): DetailRow | undefined {
  const { detailJson } = row;
  return detailJson === null ? undefined : { ...row, detailJson };
}

/** The maximum stored length of a page's details. One call is always returned, whatever its length. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

const LONG = ['detailJson', 'clean', 'verbatim', 'verbatimSegments', 'redacted', 'redactedSegments'];
/** PostgreSQL reads no long text for this: it stores long texts outside the row, and their lengths in it. */
const LENGTH = LONG.map((name) => `coalesce(octet_length(s."${name}"), 0)`).join(' + ');

/** Whether a page that is too long is rejected or truncated. */
type IfTooLong = 'read none' | 'read the first';

const UP_TO = `s.upto <= ${MAX_PAGE_BYTES} or s.upto = s.length`;
const FITS: Record<IfTooLong, string> = {
  'read none': `bool_and(s.length is null or ${UP_TO}) over ()`,
  'read the first': UP_TO,
};

/**
 * Returns SQL that reads a page's calls of the organization `$1`, each by its key.
 * @param page name of a subquery with the columns `call_id` (null for a row without a call), `position` (the order) and others
 * @param first number of the first of the four parameters that `callParameters` makes
 * @returns the subquery `measured`, which also has the columns of `page`, and a select list for `from measured m`
 */
export function detailsSql(page: string, first: number, ifTooLong: IfTooLong) {
  return {
    measured: `sized as (
      select s.*, (case when s."detailJson" is not null then ${LENGTH} end)::bigint as length from (
        select p.*, d.* from ${page} p left join lateral (
          select ${callColumns(first)} from calls.calls c where c.organization = $1 and c.call_id = p.call_id limit 1
        ) d on true
      ) s
    ),
    summed as (select s.*, sum(s.length) over (order by s.position) as upto from sized s),
    measured as (select s.*, ${FITS[ifTooLong]} as fits from summed s)`,
    columns: `${Object.keys(CALL)
      .map((name) => `case when m.fits then m."${name}" end as "${name}"`)
      .join(', ')}, m.length`,
  };
}

/** Returns how many of the first calls would fit into a page. */
export function countFitting(rows: readonly PageRow[]): number {
  let left = MAX_PAGE_BYTES;
  const end = rows.findIndex(({ length }) => (left -= Number(length)) < 0);
  return end === -1 ? rows.length : Math.max(1, end);
}
