/** Reads calls for REST, up to the size of a page and without hidden transcripts. Rendering leaves out other hidden fields. */
import * as column from '@crs/kit/data/column';
import type { Measured, Records } from '@crs/records/feed/details';
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

/** Calls as pages of details read them. */
export const CALLS: Records<column.RowOf<typeof CALL>> = {
  table: 'calls.calls',
  key: 'call_id',
  columns: CALL,
  select: callColumns,
  present: 'detailJson',
  long: ['detailJson', 'clean', 'verbatim', 'verbatimSegments', 'redacted', 'redactedSegments'],
};

/** Returns the call of a row, or undefined if it wasn't read. */
export function callOf(row: Measured<column.RowOf<typeof CALL>>): DetailRow | undefined {
  const { detailJson } = row;
  return detailJson === null ? undefined : { ...row, detailJson };
}
