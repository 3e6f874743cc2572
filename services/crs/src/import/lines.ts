import { MAX_LINE_BYTES } from '@crs/records/import-record';

/** One line of a file. */
export interface Line {
  /** From 1. Blank lines count too. */
  number: number;
  /** Without the line end and the byte order mark; undefined if longer than {@link MAX_LINE_BYTES}. */
  bytes: Buffer | undefined;
  /** Bytes of the file up to and including the line's end. */
  end: number;
}

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Length of the longest line with its byte order mark and CR. */
const MAX_HELD_BYTES = BYTE_ORDER_MARK.length + MAX_LINE_BYTES + 1;

/**
 * Cuts a stream of bytes into lines that end with LF or CR LF. The last line needs no end. Bytes aren't decoded here, so no character
 * is cut. Memory holds at most one line of the longest allowed length, and nothing of a longer line.
 */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0;
  let end = 0;
  let held: Buffer[] = [];
  let length = 0;

  const hold = (part: Buffer) => {
    length += part.length;
    if (length <= MAX_HELD_BYTES) held.push(part);
    else held = [];
  };
  const take = (): Line => {
    number++;
    const bytes = length <= MAX_HELD_BYTES ? trim(held.length === 1 ? held[0]! : Buffer.concat(held), number === 1) : undefined;
    held = [];
    length = 0;
    return { number, bytes: bytes && bytes.length <= MAX_LINE_BYTES ? bytes : undefined, end };
  };

  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, start)) {
      hold(chunk.subarray(start, at));
      end += at + 1 - start;
      start = at + 1;
      yield take();
    }
    if (start < chunk.length) {
      hold(chunk.subarray(start));
      end += chunk.length - start;
    }
  }
  if (length > 0) yield take();
}

function trim(line: Buffer, first: boolean): Buffer {
  const start = first && line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  return line.subarray(start, line.at(-1) === CR ? -1 : undefined);
}
