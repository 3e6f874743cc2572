import type { ExportRecordsRequest, ExportRecordsResponse } from '@crs/proto/crs/exports/v1/exports';
import type { Database, Statement } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { timeSlices } from '@crs/kit/process/event-loop';
import { rpc, type CallContext } from '@crs/kit/rpc/server';
import { parseUuid, unstorable } from '@crs/kit/text';
import type { RecordImport } from './import-batch.ts';

const MAX_ROWS = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
/** Rows per fetch. Few, because a row may have as many bytes as the longest line of an import. */
const ROWS_AT_ONCE = 8;

/** Reads a page of lines. @param after the `next` of the previous page; empty: from the first record */
type ReadLines = (
  after: string,
  call: CallContext<'operator'>,
) => Promise<{
  lines: (object | Uint8Array)[];
  /** Empty: this page is the last one. */
  next: string;
}>;

/** Creates the handler of `ExportRecords`, for operators. Each page is audited before it is read. */
export function exportRpc(service: string, record: RecordImport, readers: Record<string, ReadLines>) {
  const access = { action: 'export', roles: ['admin'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async ({ type, after }: ExportRecordsRequest, call): Promise<ExportRecordsResponse> => {
    const read = Object.hasOwn(readers, type) ? readers[type] : undefined;
    if (!read) throw invalid('type', `must be ${Object.keys(readers).join(' or ')}`);
    const problem = unstorable(after);
    if (problem) throw invalid('after', problem);
    const target = after === '' ? type : `${type} after ${after}`.slice(0, 300);
    await record({ action: `${service}.export`, target, address: call.address, counted: false }, call);
    const { lines, next } = await read(after, call);
    return { lines: await toBytes(lines), next };
  });
}

async function toBytes(lines: (object | Uint8Array)[]): Promise<Buffer[]> {
  const bytes: Buffer[] = [];
  const yieldWhenDue = timeSlices();
  for (const line of lines) {
    await yieldWhenDue();
    bytes.push(
      line instanceof Uint8Array ? Buffer.from(line.buffer, line.byteOffset, line.byteLength) : Buffer.from(JSON.stringify(line)),
    );
  }
  return bytes;
}

export interface Page<Row> {
  rows: Row[];
  /** Whether there may be more rows. */
  hasMore: boolean;
}

/**
 * Reads at least one row, and at most 8 MiB or 1,000 rows. The memory doesn't grow with the table.
 * @param statement selects the rows of this and all later pages, in order, without a limit
 */
export function readPage<Row>(db: Database, scope: Scope, statement: Statement<Row>): Promise<Page<Row>> {
  const { name, text, values, row } = statement;
  return db.transact(scope, async (query) => {
    await query({
      name: `open_${name}`,
      // A prepared statement could keep a plan from when the table was small.
      dynamic: true,
      text: `declare export_page no scroll cursor for ${text} limit ${MAX_ROWS}`,
      ...(values && { values }),
    });
    const rows: Row[] = [];
    let bytes = 0;
    for (;;) {
      const fetched = await query<Row>({
        name: `fetch_${name}`,
        dynamic: true,
        text: `fetch ${ROWS_AT_ONCE} from export_page`,
        ...(row && { row }),
      });
      for (const each of fetched) {
        bytes += lengthOf(each);
        if (bytes > MAX_BYTES && rows.length > 0) return { rows, hasMore: true };
        rows.push(each);
      }
      if (fetched.length < ROWS_AT_ONCE) return { rows, hasMore: rows.length === MAX_ROWS };
    }
  });
}

/** Estimates the length of a value as JSON, in bytes, without serializing it. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 8;
  return Object.values(value).reduce((sum: number, each) => sum + lengthOf(each), 0);
}

/** The `next` of a page. @param keyOf returns the key that rows are ordered by */
export function nextOf<Row>({ rows, hasMore }: Page<Row>, keyOf: (row: Row) => string): string {
  return hasMore ? keyOf(rows.at(-1)!) : '';
}

/** Parses the `after` of records that are ordered by UUID; null: from the first record. @throws ServiceError invalid_argument */
export function afterUuid(after: string): string | null {
  if (after === '') return null;
  const id = parseUuid(after);
  if (!id) throw invalid('after', 'must be the next of the page before');
  return id;
}

/** Removes the properties that are null: an import reads an absent property as null. */
export function withoutNulls<T extends object>(record: T): Partial<T> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) as Partial<T>;
}
