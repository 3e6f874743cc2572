import * as column from '@crs/kit/data/column';
import type { Transcript } from '../domain/call.ts';
import { DETAIL, type Call } from '../domain/columns.ts';
import { TRANSCRIPTS, transcriptsSql, withTranscripts } from './transcripts.ts';

/** The kinds of transcripts to read, and how many bytes of details: about as many are read, and always the first detail. */
export interface DetailsAsked {
  kinds: Transcript['kind'][];
  maxBytes: number;
}

/** The columns of the details of a page. All but `length` are null in a row whose detail was not read; `length` is null where there is no call. */
export const DETAILS = {
  ...DETAIL,
  length: column.bigint.orNull,
  callId: column.text.orNull,
  ...TRANSCRIPTS,
};

export type DetailRow = column.RowOf<typeof DETAILS>;

/** The call of a row; undefined where its detail was not read. */
export function callOf(row: DetailRow): Call | undefined {
  return row.callId === null ? undefined : withTranscripts(row as typeof row & Omit<Call, 'transcripts'>);
}

const LENGTH = `coalesce(c.bytes, octet_length(c.participants::text) + octet_length(c.qa_blocks::text)
  + coalesce(octet_length(c.summary), 0) + coalesce(octet_length(c.ktas), 0) + coalesce(octet_length(c.bio), 0))
  + coalesce((
    select sum(coalesce(t.bytes, octet_length(t.text) + octet_length(t.segments::text))) from calls.transcripts t
    where t.organization = $1 and t.call_id = c.call_id and t.kind = any($KINDS)), 0)`;

/**
 * SQL of the details of a page's calls, as long as their lengths add up to no more than the limit. Each call is read by its key, as
 * long transcripts must not be read before their lengths are known.
 * @param page name of a subquery with the columns `call_id` (null: no call), `position` (the order) and others
 * @param kinds number of the parameter that holds the kinds of transcripts
 * @param maxBytes number of the parameter that holds the limit
 * @returns a subquery `measured`, and a select list and a join for a query that selects from `measured m`
 */
export function detailsSql(page: string, kinds: number, maxBytes: number) {
  const transcripts = transcriptsSql(kinds);
  return {
    measured: `measured as (
      select p.*, c.length, sum(c.length) over (order by p.position) as upto from ${page} p left join lateral (
        select (${LENGTH.replace('$KINDS', `$${kinds}`)})::bigint as length
        from calls.calls c where c.organization = $1 and c.call_id = p.call_id limit 1
      ) c on true
    )`,
    columns: `${Object.keys({ ...DETAIL, ...TRANSCRIPTS })
      .map((name) => `d."${name}"`)
      .join(', ')}, m.length`,
    join: `left join lateral (
      select ${column.selectList(DETAIL, 'c')}, ${transcripts.columns} from calls.calls c ${transcripts.joins}
      where c.organization = $1 and c.call_id = m.call_id and (m.upto <= $${maxBytes} or m.upto = m.length) limit 1
    ) d on true`,
  };
}
