/** Reads a call's transcripts as columns of its row: texts cross as they are, which JSON around them would not. */
import * as column from '@crs/kit/data/column';
import type { Segment, Transcript } from '../domain/call.ts';

export const TRANSCRIPTS = {
  verbatim: column.text.orNull,
  verbatimSegments: column.json<Segment[]>().orNull,
  redacted: column.text.orNull,
  redactedSegments: column.json<Segment[]>().orNull,
};

export type TranscriptColumns = column.RowOf<typeof TRANSCRIPTS>;

/**
 * SQL of {@link TRANSCRIPTS} for calls `c` of the organization `$1`: a select list, and joins that find at most one row each.
 * @param kinds number of the parameter that holds the kinds to read
 */
export function transcriptsSql(kinds: number): { columns: string; joins: string } {
  const join = (kind: Transcript['kind'], alias: string) =>
    `left join calls.transcripts ${alias} on ${alias}.organization = $1 and ${alias}.call_id = c.call_id and ${alias}.kind = '${kind}'
        and '${kind}' = any($${kinds}::text[])`;
  return {
    columns: 'v.text as verbatim, v.segments as "verbatimSegments", r.text as redacted, r.segments as "redactedSegments"',
    joins: `${join('verbatim', 'v')} ${join('redacted', 'r')}`,
  };
}

/** The row with its transcripts, at most one of each kind. */
export function withTranscripts<Row extends TranscriptColumns>(row: Row): Row & { transcripts: Transcript[] } {
  const transcripts: Transcript[] = [];
  if (row.verbatim !== null) transcripts.push({ kind: 'verbatim', text: row.verbatim, segments: row.verbatimSegments! });
  if (row.redacted !== null) transcripts.push({ kind: 'redacted', text: row.redacted, segments: row.redactedSegments! });
  return Object.assign(row, { transcripts });
}
