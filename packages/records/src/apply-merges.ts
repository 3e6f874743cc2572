import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import { timeSlices } from '@crs/kit/process/event-loop';
import { runInWorker } from '@crs/kit/process/worker';
import { MAX_INLINE_BYTES, parseInTurn, refused, type LineReader, type NumberedRecord } from './import-batch.ts';
import type { FieldError } from './import-record.ts';
import { isMerge, type Merge } from './merge.ts';
import { lineMerger } from './merge-line.ts';

/** Bounds the memory that the stored records of a segment take. One record is always read, whatever its length. */
const MAX_STORED_BYTES = 16 * 1024 * 1024;

export function mergedIds(lines: readonly NumberedRecord<object>[]): string[] {
  return [...new Set(lines.flatMap(({ record }) => (isMerge(record) ? record.id : [])))];
}

/**
 * Splits a batch into segments, to be stored one after the other, so that a merge finds what earlier lines stored: no line that precedes a merge in
 * its segment has the same id.
 * @param lengths the lengths of the stored records by id, in bytes
 */
export function segmentsOf<R extends object>(
  lines: NumberedRecord<R>[],
  idOf: (record: Exclude<R, Merge>) => string,
  lengths: ReadonlyMap<string, number>,
): NumberedRecord<R>[][] {
  const segments: NumberedRecord<R>[][] = [];
  let ids = new Set<string>();
  let bytes = 0;
  for (const line of lines) {
    const { record } = line;
    const id = isMerge(record) ? record.id : idOf(record as Exclude<R, Merge>);
    const length = isMerge(record) ? (lengths.get(id) ?? 0) : 0;
    const begins = isMerge(record) && (ids.has(id) || (bytes > 0 && bytes + length > MAX_STORED_BYTES));
    if (begins || segments.length === 0) {
      segments.push([]);
      ids = new Set();
      bytes = 0;
    }
    segments.at(-1)!.push(line);
    ids.add(id);
    bytes += length;
  }
  return segments;
}

const UNKNOWN: FieldError = { field: 'id', reason: 'must be the id of a stored record, because the line is a merge' };

/**
 * Turns the merges of a segment into whole records. Refuses those whose record isn't stored, or would become invalid.
 * @param stored the lines that an export writes of the stored records, by id
 */
export async function applyMerges<R extends object>(
  segment: NumberedRecord<R>[],
  stored: ReadonlyMap<string, Uint8Array>,
  reader: LineReader<R>,
): Promise<{ lines: NumberedRecord<Exclude<R, Merge>>[]; errors: ImportError[] }> {
  const lines: NumberedRecord<Exclude<R, Merge>>[] = [];
  const errors: ImportError[] = [];
  const yieldWhenDue = timeSlices();
  for (const { number, record } of segment) {
    await yieldWhenDue();
    const result = isMerge(record) ? await applyMerge(record, stored.get(record.id), reader) : { record };
    // A merged line is a whole record.
    if ('record' in result) lines.push({ number, record: result.record as Exclude<R, Merge> });
    else errors.push(refused(number, result));
  }
  return { lines, errors };
}

async function applyMerge<R>(
  { patch }: Merge,
  stored: Uint8Array | undefined,
  reader: LineReader<R>,
): Promise<{ record: R } | FieldError> {
  if (!stored) return UNKNOWN;
  const input = { stored, patch };
  const isLong = stored.length + patch.length > MAX_INLINE_BYTES;
  const merged = isLong ? await runInWorker(lineMerger, input) : lineMerger.run(input);
  return 'reason' in merged ? merged : parseInTurn(reader, merged.line);
}
