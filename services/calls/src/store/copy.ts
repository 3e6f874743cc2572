import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { timeSlices } from '@crs/kit/process/event-loop';
import type { PoolClient } from 'pg';
import { from } from 'pg-copy-streams';

/** A column's value. Objects become JSON, buffers `bytea`. */
export type Cell = string | number | boolean | Date | Buffer | object | null;

/**
 * Appends rows to a table with COPY. The connection must not be pipelined.
 * @param table a constant, because it becomes part of the statement, as `columns` do
 * @param rows each in parts that together are a row in the format of {@link formatRow}
 */
export async function copyRows(
  client: PoolClient,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly Uint8Array[]>,
): Promise<void> {
  const target = client.query(from(`copy ${table} (${columns.join(', ')}) from stdin`));
  await pipeline(Readable.from(chunks(rows)), target);
}

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = Buffer.from('\n');

/** Formats a row in COPY's text format. */
export function formatRow(cells: readonly Cell[]): string {
  return cells.map(format).join('\t');
}

/** Splits large rows and joins small ones, because each chunk is written and encrypted in one turn of the event loop. */
async function* chunks(rows: Iterable<readonly Uint8Array[]>): AsyncGenerator<Buffer> {
  const yieldWhenDue = timeSlices();
  let chunk: Uint8Array[] = [];
  let length = 0;
  for (const row of rows) {
    for (const piece of [...row, NEWLINE]) {
      for (let at = 0; at < piece.length; at += CHUNK_BYTES) {
        const part = piece.subarray(at, at + CHUNK_BYTES);
        chunk.push(part);
        length += part.length;
        if (length < CHUNK_BYTES) continue;
        yield Buffer.concat(chunk);
        chunk = [];
        length = 0;
        await yieldWhenDue();
      }
    }
  }
  if (length > 0) yield Buffer.concat(chunk);
}

function format(cell: Cell): string {
  if (cell === null) return '\\N';
  if (typeof cell === 'string') return escape(cell);
  if (typeof cell !== 'object') return String(cell);
  if (cell instanceof Date) return cell.toISOString();
  if (Buffer.isBuffer(cell)) return `\\\\x${cell.toString('hex')}`;
  return escape(JSON.stringify(cell));
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escape(text: string): string {
  return text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character]!);
}
