import {
  CheckRecordsRequest,
  ImportRecordsRequest,
  ImportServiceService,
  type CheckRecordsResponse,
  type ImportError,
  type ImportLine,
  type ImportRecordsResponse,
} from '@crs/proto/crs/imports/v1/imports';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { timeSlices } from '@crs/kit/process/event-loop';
import { meter } from '@crs/kit/process/telemetry';
import { runInWorker, type WorkerTask } from '@crs/kit/process/worker';
import { hasAtMost } from '@crs/kit/rpc/message-size';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { MAX_LINE_BYTES, type FieldError } from './import-record.ts';

const MAX_LINES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Longer lines are parsed in the worker thread. Parsing one of this length blocks the event loop for up to 5 ms. */
export const MAX_INLINE_BYTES = 64 * 1024;

/** Audits an import, a check or an export before it happens. Equal `counted` entries within a minute become one. */
export type RecordImport = (
  entry: { action: string; target: string; address: string; counted: boolean },
  call: CallContext<'operator'>,
) => Promise<unknown>;

/** Many more than {@link MAX_LINES} lines with three fields each have. */
const MAX_FIELDS = 200_000;
/** Returned instead of decoding a message that is too large; {@link checkSize} refuses it. */
const NO_LINE: ImportLine = { number: 0, json: Buffer.alloc(0), id: '' };
const TOO_LARGE = { lines: Array.from({ length: MAX_LINES + 1 }, () => NO_LINE) };

/** The import service, with deserializers that check a message's size before they decode it. */
export const ImportService = {
  importRecords: {
    ...ImportServiceService.importRecords,
    requestDeserialize: (bytes: Buffer): ImportRecordsRequest =>
      hasAtMost(MAX_FIELDS, bytes) ? ImportRecordsRequest.decode(bytes) : TOO_LARGE,
  },
  checkRecords: {
    ...ImportServiceService.checkRecords,
    requestDeserialize: (bytes: Buffer): CheckRecordsRequest =>
      hasAtMost(MAX_FIELDS, bytes) ? CheckRecordsRequest.decode(bytes) : TOO_LARGE,
  },
} as const;

/**
 * The handlers of imports, for operators. They count imported lines by their outcome. A check parses the lines, and stores nothing.
 * @param findProblems returns further errors of the lines of a check
 */
export function importRpcs<R extends { organization: string }>(
  service: string,
  record: RecordImport,
  reader: LineReader<R>,
  store: (lines: ImportLine[], call: CallContext<'operator'>) => Promise<ImportRecordsResponse>,
  findProblems?: (lines: NumberedRecord<R>[], scope: Scope) => Promise<ImportError[]>,
) {
  const counted = meter('kit').createCounter('crs.import.lines', { description: 'Lines of imports, by outcome.' });
  // A counter must start at zero, or `increase()` would miss the first batch.
  for (const outcome of ['accepted', 'unchanged', 'refused']) counted.add(0, { outcome });
  const access = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;
  const importRecords = rpc(
    { operator: access },
    async ({ lines }: ImportRecordsRequest, call): Promise<ImportRecordsResponse> => {
      const entry = { action: `${service}.import`, target: `${lines.length} lines`, address: call.address, counted: false };
      await record(entry, call);
      const response = await store(lines, call);
      counted.add(response.accepted, { outcome: 'accepted' });
      counted.add(response.unchanged, { outcome: 'unchanged' });
      counted.add(response.errors.length, { outcome: 'refused' });
      return response;
    },
  );
  const checked = { ...access, action: 'import.check' } as const;
  const checkRecords = rpc({ operator: checked }, async ({ lines }: CheckRecordsRequest, call): Promise<CheckRecordsResponse> => {
    await record({ action: 'import.check', target: '', address: call.address, counted: true }, call);
    const scope = callerScope(call);
    const batch = await readBatch(lines, reader, scope);
    const problems = (await findProblems?.(batch.lines, scope)) ?? [];
    return { errors: sortByLine([...batch.errors, ...problems]) };
  });
  return { importRecords, checkRecords };
}

/** A valid line of a batch. */
export interface NumberedRecord<R> {
  /** Its position in the file, from 1. */
  number: number;
  record: R;
}

/** Parses a line. */
export type LineReader<R> = WorkerTask<Uint8Array, { record: R } | FieldError>;

/**
 * Parses a batch into the records of one organization, and the errors of the other lines.
 * @throws ServiceError if the batch is too large; the signal's reason after an abort
 */
export async function readBatch<R extends { organization: string }>(
  batch: ImportLine[],
  reader: LineReader<R>,
  { organization, signal }: Scope,
): Promise<{ lines: NumberedRecord<R>[]; errors: ImportError[] }> {
  checkSize(batch);
  const lines: NumberedRecord<R>[] = [];
  const errors: ImportError[] = [];
  const yieldWhenDue = timeSlices();
  for (const { number, json } of batch) {
    await yieldWhenDue();
    signal?.throwIfAborted();
    const result = await read(reader, json);
    if (!('record' in result)) errors.push(refused(number, result));
    else if (result.record.organization !== organization) errors.push(refused(number, WRONG_ORGANIZATION));
    else lines.push({ number, record: result.record });
  }
  return { lines, errors };
}

function read<R>(reader: LineReader<R>, json: Uint8Array): Promise<{ record: R } | FieldError> | { record: R } | FieldError {
  if (json.length > MAX_LINE_BYTES) return TOO_LONG;
  return json.length > MAX_INLINE_BYTES ? runInWorker(reader, json) : reader.run(json);
}

/** @throws ServiceError if the batch is too large */
export function checkSize(lines: ImportLine[]): void {
  const bytes = lines.reduce((sum, line) => sum + line.json.length, 0);
  if (lines.length > MAX_LINES || bytes > MAX_BYTES) {
    const message = `A batch holds at most ${MAX_LINES} lines and ${MAX_BYTES} bytes. Send smaller batches.`;
    throw new ServiceError('invalid_argument', message, { field: 'lines' });
  }
}

const TOO_LONG: FieldError = { field: '', reason: 'must be at most 8 MiB long' };
const WRONG_ORGANIZATION: FieldError = { field: 'organization', reason: 'must be the organization that the batch is sent for' };

export function refused(number: number, { field, reason }: FieldError): ImportError {
  return { line: number, field, reason };
}

export function sortByLine(errors: ImportError[]): ImportError[] {
  return errors.toSorted((a, b) => a.line - b.line);
}
