/** Parses a line and formats the rows of its call for COPY. The worker thread, which parses long lines, imports this module. */
import { hash } from 'node:crypto';
import * as column from '@crs/kit/data/column';
import type { LineReader } from '@crs/records/import-batch';
import { parseMergeable, type Merge } from '@crs/records/merge';
import { fold } from '@crs/kit/text';
import { callLine, callMerge, type CallDeletion, type CallRecord } from '../domain/call-record.ts';
import type { PreparedCall } from '../domain/changes.ts';
import { FOLDED, METADATA, STORED } from '../domain/columns.ts';
import { encode } from '../domain/stored-json/index.ts';
import { formatRow, type Cell } from './copy.ts';

const METADATA_NAMES = Object.keys(METADATA) as (keyof typeof METADATA)[];
const { detailJson: _, ...TRANSCRIPTS } = STORED;
const TRANSCRIPT_NAMES = Object.keys(TRANSCRIPTS) as (keyof typeof TRANSCRIPTS)[];
/** The columns of the call that depend on the line alone. */
export const OF_LINE = [...METADATA_NAMES, ...FOLDED.map((name) => `${name}Folded`), ...TRANSCRIPT_NAMES].map(column.snakeCase);

/** The texts before and after the call's times, which are known only when it is written. */
export const AROUND_TIMES = ['list_item_before', 'list_item_after', 'detail_before', 'detail_after'];

const preparedLine = callLine.transform((record) => (record.deleted ? record : prepare(record)));

export const run: LineReader<CallDeletion | PreparedCall | Merge>['run'] = (json) =>
  parseMergeable({ whole: preparedLine, merge: callMerge }, json);
export const lineReader: LineReader<CallDeletion | PreparedCall | Merge> = { url: import.meta.url, run };

/** Does most of the work of an import, before anything is locked. */
function prepare(record: CallRecord): PreparedCall {
  const { organization, callId, createdAt, projectId, conductedBy } = record;
  const { listItem, detail, transcripts } = encode(record);
  const cells: Cell[] = [
    ...METADATA_NAMES.map((name) => record[name]),
    ...FOLDED.map((name) => record[name] && fold(record[name])),
    ...TRANSCRIPT_NAMES.map((name) => transcripts[name]),
    ...listItem,
    ...detail,
  ];
  const row = Buffer.from(formatRow(cells));
  const notes = record.notes.map(({ email, text }) => ({ email, text: text === null ? null : Buffer.from(formatRow([text])) }));
  return {
    deleted: false,
    organization,
    callId,
    createdAt,
    projectId,
    conductedBy,
    notes,
    row,
    rowHash: hash('sha256', row, 'buffer'),
  };
}
