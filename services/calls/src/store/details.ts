/** Reads calls for REST, without transcripts that the caller doesn't see, and no more than fit into an answer. `renderCall` leaves out closed parts of `shown`. */
import * as column from '@crs/kit/data/column';
import { STORED } from '../domain/columns.ts';
import { kindsOf, renames, type Call, type View } from '../domain/render.ts';

/** The fields and transcripts that a caller sees, and whether names are anonymized for the caller. */
export interface Seen extends Pick<View, 'gate' | 'include'> {
  anonymize: boolean;
}

/** The columns of a call as REST reads it. */
export const CALL = { ...STORED, interviewee: column.text.orNull };

/** The parameters of {@link callColumns}: whether the caller sees verbatim, redacted and clean transcripts, and another name than the recorded. */
export function callParameters(seen: Seen): [verbatim: boolean, redacted: boolean, clean: boolean, renamed: boolean] {
  const kinds = kindsOf(seen);
  return [kinds.has('verbatim'), kinds.has('redacted'), kinds.has('clean'), renames(seen.gate, seen.anonymize)];
}

/**
 * The select list of {@link CALL} for calls `c`.
 * @param first number of the first of the four parameters that `callParameters` makes
 */
export function callColumns(first: number): string {
  const when = (condition: string, name: string, value = `c.${column.snakeCase(name)}`) =>
    `case when ${condition} then ${value} end as "${name}"`;
  const verbatim = `$${first}::boolean`;
  const redacted = `$${first + 1}::boolean and c.anonymity_status = 'complete'`;
  return [
    'c.shown',
    when(`$${first + 2}::boolean`, 'clean'),
    when(`$${first + 3}::boolean`, 'interviewee', 'json_build_array(c.name, c.employer, c.anonymized_name)::text'),
    when(verbatim, 'verbatim'),
    when(verbatim, 'verbatimSegments'),
    when(redacted, 'redacted'),
    when(redacted, 'redactedSegments'),
  ].join(', ');
}

/** The columns of the calls of a page. All but `length` are null in a row whose call was not read; `length` is null where there is no call. */
export const DETAILS = { ...CALL, shown: column.text.orNull, length: column.bigint.orNull };

export type DetailRow = column.RowOf<typeof DETAILS>;

/** The call of a row; undefined where it was not read. */
export function callOf(row: DetailRow): Call | undefined {
  const { shown } = row;
  return shown === null ? undefined : { ...row, shown };
}

const LONG = ['shown', 'clean', 'verbatim', 'verbatimSegments', 'redacted', 'redactedSegments'];
/** Lengths are known without reading long texts, which are stored apart from their rows. */
const LENGTH = LONG.map((name) => `coalesce(octet_length(s."${name}"), 0)`).join(' + ');

/**
 * SQL of the details of a page's calls of the organization `$1`, as long as their lengths add up to no more than the limit, and always of the first
 * call. Each call is read by its key.
 * @param page name of a subquery with the columns `call_id` (null: no call), `position` (the order) and others
 * @param first number of the first of five parameters: those that `callParameters` makes, and the limit in bytes
 * @returns a subquery `measured`, which has the columns of `page`, too, and a select list for a query that selects from `measured m`
 */
export function detailsSql(page: string, first: number) {
  return {
    measured: `sized as (
      select s.*, (case when s.shown is not null then ${LENGTH} end)::bigint as length from (
        select p.*, d.* from ${page} p left join lateral (
          select ${callColumns(first)} from calls.calls c where c.organization = $1 and c.call_id = p.call_id limit 1
        ) d on true
      ) s
    ),
    summed as (select s.*, sum(s.length) over (order by s.position) as upto from sized s),
    measured as (select s.*, s.upto <= $${first + 4} or s.upto = s.length as fits from summed s)`,
    columns: `${Object.keys(CALL)
      .map((name) => `case when m.fits then m."${name}" end as "${name}"`)
      .join(', ')}, m.length`,
  };
}
