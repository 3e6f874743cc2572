import { BadRequestError } from './errors.ts';
import { readJson } from './responses.ts';
import type { RawResponse, Request, RequestOptions } from './transport.ts';
import type { LineError, RecordsResult } from './types.ts';

export interface RecordsOptions extends RequestOptions {
  /** `abort`: store nothing of a batch with a refused record, and throw. All records of a batch must then have one type. */
  onRefusal?: 'abort' | undefined;
  /** Store nothing, but return the same result, except that a record can't refer to one of an earlier batch. */
  check?: boolean | undefined;
}

/** A body with consecutive records, one a line. */
interface Batch {
  /** The number of records before it. */
  start: number;
  body: string;
}

/** The API's limits. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;
const MAX_BATCH_LINES = 1_000;
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** Sends records in batches, one after the other, so that a record may refer to earlier ones. */
export async function sendRecords(
  send: (request: Request, options: RequestOptions) => Promise<RawResponse>,
  records: Iterable<object> | AsyncIterable<object>,
  { onRefusal, check, ...options }: RecordsOptions,
): Promise<RecordsResult> {
  const result: RecordsResult = { lines: 0, accepted: 0, unchanged: 0, refused: 0, errors: [] };
  const request = {
    method: 'POST' as const,
    path: '/records',
    query: { on_refusal: onRefusal, check },
    headers: { 'Content-Type': 'application/x-ndjson' },
  };
  for await (const { start, body } of batchesOf(records)) {
    const response = await send({ ...request, body }, options).catch((error: unknown) => {
      throw error instanceof BadRequestError ? numbered(error, start) : error;
    });
    const { lines, accepted, unchanged, refused, errors } = readJson<RecordsResult>(response);
    result.lines += lines;
    result.accepted += accepted;
    result.unchanged += unchanged;
    result.refused += refused;
    for (const refusal of errors) result.errors.push(shift(refusal, start));
  }
  return result;
}

export async function* batchesOf(records: Iterable<object> | AsyncIterable<object>): AsyncGenerator<Batch> {
  let start = 0;
  let lines: string[] = [];
  let bytes = 0;
  const take = () => {
    const batch = { start, body: lines.join('') };
    start += lines.length;
    lines = [];
    bytes = 0;
    return batch;
  };
  for await (const record of records) {
    const line = `${JSON.stringify(record)}\n`;
    const length = Buffer.byteLength(line);
    if (length - 1 > MAX_LINE_BYTES) {
      throw new BadRequestError(`line ${start + lines.length + 1}: must be at most 8 MiB long`);
    }
    if (lines.length === MAX_BATCH_LINES || bytes + length > MAX_BATCH_BYTES) yield take();
    lines.push(line);
    bytes += length;
  }
  if (lines.length > 0) yield take();
}

/** The lines of an aborted batch, counted over all records. */
function numbered(error: BadRequestError, start: number): BadRequestError {
  const { message, code, status, requestIds, details } = error;
  const shifted = details.map((refusal) => shift(refusal, start));
  return new BadRequestError(message, { code, status, requestIds, details: shifted, cause: error });
}

function shift(refusal: LineError, start: number): LineError {
  return { ...refusal, line: refusal.line + start };
}
