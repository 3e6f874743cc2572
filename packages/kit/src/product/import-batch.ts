import { setImmediate } from 'node:timers/promises';
import type {
  CheckRecordsRequest,
  CheckRecordsResponse,
  EarlierLines,
  ImportError,
  ImportLine,
  ImportRecordsRequest,
  ImportRecordsResponse,
} from '@crs/proto/crs/imports/v1/imports';
import { ServiceError } from '../errors.ts';
import { rpc, type CallContext } from '../rpc/server.ts';
import { parseLine, type Problem } from './import-record.ts';
import { meter } from '../process/telemetry.ts';
import type { z } from 'zod';

const MAX_LINES = 1_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** Lines that are read without a pause. Callers, and the writing of the previous batch, must not wait for a whole batch. */
const LINES_AT_ONCE = 10;

/** Records an import, a check or an export in the audit trail before it happens. Equal counted entries of a minute are one. */
export type RecordImport = (
  entry: { action: string; target: string; address: string; counted: boolean },
  call: CallContext<'operator'>,
) => Promise<unknown>;

/** Lines of an organization. */
export interface Batch {
  lines: ImportLine[];
  /** Present: nothing is stored. The answer is as if these lines of the file had been. */
  earlier?: EarlierLines;
}

const NOTHING_EARLIER: EarlierLines = { organization: undefined, users: [], projects: [], billingOffices: [] };

/** The handlers of imports, for operators. They count imported lines by their outcome. */
export function importRpcs(
  service: string,
  record: RecordImport,
  handle: (batch: Batch, call: CallContext<'operator'>) => Promise<ImportRecordsResponse>,
) {
  const counted = meter('kit').createCounter('crs.import.lines', { description: 'Lines of imports, by outcome.' });
  // A counter must start at zero, or a graph of increases would miss the first batch.
  for (const outcome of ['accepted', 'unchanged', 'refused']) counted.add(0, { outcome });
  const access = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;
  const importRecords = rpc(
    { operator: access },
    async ({ lines }: ImportRecordsRequest, call): Promise<ImportRecordsResponse> => {
      const entry = { action: `${service}.import`, target: `${lines.length} lines`, address: call.address, counted: false };
      await record(entry, call);
      const response = await handle({ lines }, call);
      counted.add(response.accepted, { outcome: 'accepted' });
      counted.add(response.unchanged, { outcome: 'unchanged' });
      counted.add(response.errors.length, { outcome: 'refused' });
      return response;
    },
  );
  const checked = { ...access, action: 'import.check' } as const;
  const checkRecords = rpc(
    { operator: checked },
    async ({ lines, earlier = NOTHING_EARLIER }: CheckRecordsRequest, call): Promise<CheckRecordsResponse> => {
      await record({ action: 'import.check', target: '', address: call.address, counted: true }, call);
      return handle({ lines, earlier }, call);
    },
  );
  return { importRecords, checkRecords };
}

/** A good line of a batch. */
export interface Line<R> {
  number: number;
  record: R;
}

/**
 * Reads a batch: the good lines as records of one organization, and the errors of the other lines. The caller may refuse more lines.
 * @throws ServiceError if the batch as a whole is too large
 */
export async function readBatch<S extends z.ZodType<{ organization: string }>>(
  request: Batch,
  schema: S,
  organization: string,
): Promise<{ lines: Line<z.output<S>>[]; errors: ImportError[] }> {
  checkSize(request);
  const lines: Line<z.output<S>>[] = [];
  const errors: ImportError[] = [];
  for (const [position, { number, json }] of request.lines.entries()) {
    if (position % LINES_AT_ONCE === LINES_AT_ONCE - 1) await setImmediate();
    const result = parseLine(schema, json);
    if (!('record' in result)) errors.push(refused(number, result));
    else if (result.record.organization !== organization) errors.push(refused(number, WRONG_ORGANIZATION));
    else lines.push({ number, record: result.record });
  }
  return { lines, errors };
}

/** @throws ServiceError if the batch is too large */
export function checkSize({ lines }: Batch): void {
  const bytes = lines.reduce((sum, line) => sum + line.json.length, 0);
  if (lines.length > MAX_LINES || bytes > MAX_BYTES) {
    throw new ServiceError('invalid_argument', `A batch holds at most ${MAX_LINES} lines and ${MAX_BYTES} bytes.`, {
      field: 'lines',
    });
  }
}

const WRONG_ORGANIZATION: Problem = { field: 'organization', reason: 'must be the organization that the batch is sent for' };

/** Refuses each line of a batch whose organization does not exist. */
export const NO_ORGANIZATION: Problem = { field: 'organization', reason: 'must be an organization that exists' };

export function refused(number: number, { field, reason }: Problem): ImportError {
  return { line: number, field, reason };
}

export function byLine(errors: ImportError[]): ImportError[] {
  return errors.toSorted((a, b) => a.line - b.line);
}
