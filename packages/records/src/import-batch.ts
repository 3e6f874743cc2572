import {
  CheckRecordsRequest,
  ImportRecordsRequest,
  ImportServiceService,
  PutRecordsRequest,
  RecordsServiceService,
  type CheckRecordsResponse,
  type ImportError,
  type ImportLine,
  type ImportRecordsResponse,
  type PutRecordsResponse,
  type Supposed,
} from '@crs/proto/crs/imports/v1/imports';
import type { RecordKeyActionRequest } from '@crs/proto/crs/auth/v1/auth';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import { timeSlices } from '@crs/kit/process/event-loop';
import { meter } from '@crs/kit/process/telemetry';
import { runInWorker, type WorkerTask } from '@crs/kit/process/worker';
import type { KeyRight } from '@crs/kit/rpc/key-rights';
import { hasAtMost } from '@crs/kit/rpc/message-size';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { MAX_LINE_BYTES, type FieldError } from './import-record.ts';

const MAX_LINES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;
/**
 * The gateway inserts the `organization` into each line of a key, or all that identifies a single call, which doesn't count towards a client's limits.
 * That is at most 58 or 221 bytes.
 */
const ADDED_TO_LINE = 256;
const ADDED_TO_BATCH = 64 * 1024;
/** Longer lines are parsed in the worker thread. Parsing one of this length blocks the event loop for up to 5 ms. */
export const MAX_INLINE_BYTES = 64 * 1024;

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

/** The service by which keys store records, with such a deserializer. */
export const RecordsService = {
  putRecords: {
    ...RecordsServiceService.putRecords,
    requestDeserialize: (bytes: Buffer): PutRecordsRequest =>
      hasAtMost(MAX_FIELDS, bytes)
        ? PutRecordsRequest.decode(bytes)
        : { ...TOO_LARGE, abort: false, check: false, supposed: undefined, address: '' },
  },
} as const;

/** A call by an operator who imports, or by a key that stores records. */
export type BatchCall = CallContext<'operator'> | CallContext<'organization'>;

/** How a batch is stored. */
export interface BatchMode {
  /** Store nothing if a line is refused. */
  abort: boolean;
  /** Store nothing, but return the response as if the lines were stored. */
  check: boolean;
  /** What lines of a check may refer to though it isn't stored. */
  supposed: Supposed;
  /** The rights of the key. Undefined: an operator sends the batch. */
  rights?: readonly KeyRight[];
  /** Records in the audit trail what a key is about to do. An operator's import is recorded before it is parsed. */
  audit: (counts: { written: number; deleted: number }) => Promise<void>;
}

const BY_OPERATOR: BatchMode = {
  abort: false,
  check: false,
  supposed: { emails: [], projectIds: [], billingOffices: [] },
  audit: () => Promise.resolve(),
};

/** What a batch changed. */
export type Stored = PutRecordsResponse;

/** Audits an import, a check or an export before it happens. Equal `counted` entries within a minute become one. */
export type RecordImport = (
  entry: { action: string; target: string; address: string; counted: boolean },
  call: CallContext<'operator'>,
) => Promise<unknown>;

interface Importer<R extends { organization: string; deleted?: boolean | null | undefined }> {
  service: string;
  record: RecordImport;
  /** Audits what a key stores or deletes before it happens. */
  recordKeyAction: (action: RecordKeyActionRequest, call: CallContext<'organization'>) => Promise<unknown>;
  reader: LineReader<R>;
  store: (lines: ImportLine[], call: BatchCall, mode: BatchMode) => Promise<Stored>;
  /** Returns further errors of the lines of a check. */
  findProblems?: (lines: NumberedRecord<R>[], scope: Scope) => Promise<ImportError[]>;
}

/**
 * The handlers of imports, for operators, and of records that keys store. They count the lines by their outcome. `CheckRecords` parses the lines, and
 * stores nothing.
 */
export function importRpcs<R extends { organization: string; deleted?: boolean | null | undefined }>(importer: Importer<R>) {
  const { service, record, recordKeyAction, reader, store, findProblems } = importer;
  const counter = meter('kit').createCounter('crs.import.lines', { description: 'Lines of imports, by outcome.' });
  const count = ({ accepted, unchanged, errors }: Omit<Stored, 'created'>) => {
    counter.add(accepted, { outcome: 'accepted' });
    counter.add(unchanged, { outcome: 'unchanged' });
    counter.add(errors.length, { outcome: 'refused' });
  };
  // A counter must start at zero, or `increase()` would miss the first batch.
  count({ accepted: 0, unchanged: 0, errors: [] });
  const access = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;
  const importRecords = rpc(
    { operator: access },
    async ({ lines }: ImportRecordsRequest, call): Promise<ImportRecordsResponse> => {
      const entry = { action: `${service}.import`, target: `${lines.length} lines`, address: call.address, counted: false };
      await record(entry, call);
      const response = await store(lines, call, BY_OPERATOR);
      count(response);
      return response;
    },
  );
  const checked = { ...access, action: 'import.check' } as const;
  const checkRecords = rpc({ operator: checked }, async ({ lines }: CheckRecordsRequest, call): Promise<CheckRecordsResponse> => {
    await record({ action: 'import.check', target: '', address: call.address, counted: true }, call);
    const scope = callerScope(call);
    const batch = await readBatch(lines, reader, scope, BY_OPERATOR);
    const problems = (await findProblems?.(batch.lines, scope)) ?? [];
    return { errors: sortByLine([...batch.errors, ...problems]) };
  });
  const putRecords = rpc(
    { organization: { rights: ['ingest', 'delete'] } },
    async ({ lines, abort, check, supposed, address }: PutRecordsRequest, call): Promise<PutRecordsResponse> => {
      const mode: BatchMode = {
        abort,
        check,
        supposed: (check && supposed) || BY_OPERATOR.supposed,
        rights: call.identity.rights,
        audit: async ({ written, deleted }) => {
          if (written > 0) await recordKeyAction({ action: 'records.write', address, count: written }, call);
          if (deleted > 0) await recordKeyAction({ action: 'records.delete', address, count: deleted }, call);
        },
      };
      const stored = await store(lines, call, mode);
      const response = isRefused(mode, stored.errors) ? { ...stored, accepted: 0, unchanged: 0, created: 0 } : stored;
      if (!check) count(response);
      return response;
    },
  );
  return { forOperators: { importRecords, checkRecords }, forKeys: { putRecords } };
}

/** Whether nothing of the batch is stored, because a line is refused. */
export function isRefused({ abort }: BatchMode, errors: ImportError[]): boolean {
  return abort && errors.length > 0;
}

/** Whether the transaction of a batch is committed. */
export function isCommitted(mode: BatchMode, { errors }: Stored): boolean {
  return !mode.check && !isRefused(mode, errors);
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
 * Parses a batch into the records of one organization, and the errors of the other lines. Then audits what a key is about to do.
 * @param repeated further lines of the batch, which write nothing because their records are stored already
 * @throws ServiceError if the batch is too large; the signal's reason after an abort
 */
export async function readBatch<R extends { organization: string; deleted?: boolean | null | undefined }>(
  batch: ImportLine[],
  reader: LineReader<R>,
  { organization, signal }: Scope,
  mode: BatchMode,
  repeated = 0,
): Promise<{ lines: NumberedRecord<R>[]; errors: ImportError[] }> {
  checkSize(batch, mode);
  const lines: NumberedRecord<R>[] = [];
  const errors: ImportError[] = [];
  const yieldWhenDue = timeSlices();
  for (const { number, json } of batch) {
    await yieldWhenDue();
    signal?.throwIfAborted();
    const result = await read(reader, json, mode);
    const problem = 'record' in result ? findProblem(result.record, organization, mode) : result;
    if (problem) errors.push(refused(number, problem));
    else if ('record' in result) lines.push({ number, record: result.record });
  }
  if (!mode.check && !isRefused(mode, errors)) {
    const deleted = lines.filter(({ record }) => record.deleted).length;
    await mode.audit({ written: repeated + lines.length - deleted, deleted });
  }
  return { lines, errors };
}

function findProblem(
  record: { organization: string; deleted?: boolean | null | undefined },
  organization: string,
  { rights }: BatchMode,
): FieldError | undefined {
  if (record.organization !== organization) return WRONG_ORGANIZATION;
  if (record.deleted) return rights?.includes('delete') === false ? needsRight('deleted', 'delete') : undefined;
  return rights?.includes('ingest') === false ? needsRight('', 'ingest') : undefined;
}

function needsRight(field: string, right: KeyRight): FieldError {
  return { field, reason: `needs a key with the right ${right}` };
}

/** Parses a line of any length, a long one in the worker thread. */
export function parseInTurn<R>(
  reader: LineReader<R>,
  json: Uint8Array,
): Promise<{ record: R } | FieldError> | { record: R } | FieldError {
  return json.length > MAX_INLINE_BYTES ? runInWorker(reader, json) : reader.run(json);
}

function read<R>(
  reader: LineReader<R>,
  json: Uint8Array,
  { rights }: BatchMode,
): Promise<{ record: R } | FieldError> | { record: R } | FieldError {
  if (json.length > MAX_LINE_BYTES + (rights ? ADDED_TO_LINE : 0)) return TOO_LONG;
  return parseInTurn(reader, json);
}

/** @throws ServiceError if the batch is too large */
export function checkSize(lines: ImportLine[], { rights }: BatchMode): void {
  const bytes = lines.reduce((sum, line) => sum + line.json.length, 0);
  if (lines.length > MAX_LINES || bytes > MAX_BYTES + (rights ? ADDED_TO_BATCH : 0)) {
    const message = `A batch holds at most ${MAX_LINES} lines and ${MAX_BYTES} bytes. Send smaller batches.`;
    throw new ServiceError('invalid_argument', message, { field: 'lines' });
  }
}

const TOO_LONG: FieldError = { field: '', reason: 'must be at most 8 MiB long' };
const WRONG_ORGANIZATION: FieldError = { field: 'organization', reason: 'must be the organization that the batch is sent for' };

export function refused(number: number, { field, reason }: FieldError): ImportError {
  return { line: number, field, reason, holdId: '' };
}

export function sortByLine(errors: ImportError[]): ImportError[] {
  return errors.toSorted((a, b) => a.line - b.line);
}
