import { invalid } from '@crs/kit/errors';
import { timeSlices } from '@crs/kit/process/event-loop';

export interface Line {
  /** Position in the body, from 1. Blank lines count, too. */
  number: number;
  /** A view of the body, without the line end. */
  bytes: Buffer;
}

export const MAX_LINES = 1_000;

const [LF, CR, SPACE, TAB] = Buffer.from('\n\r \t');
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** How many lines are skipped before other work may run: a body may consist of millions of blank lines. */
const STEP_LINES = 100_000;

/**
 * Splits a body into lines that end with LF or CR LF, and leaves out blank ones.
 * @returns count: the number of all lines
 * @throws ServiceError invalid_argument if there is no line, or too many
 */
export async function splitLines(body: Buffer): Promise<{ lines: Line[]; count: number }> {
  const lines: Line[] = [];
  const yieldWhenDue = timeSlices();
  let count = 0;
  let start = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  while (start < body.length) {
    if (count % STEP_LINES === 0) await yieldWhenDue();
    const lineFeed = body.indexOf(LF!, start);
    const end = lineFeed === -1 ? body.length : lineFeed;
    count++;
    if (!isBlank(body, start, end)) {
      if (lines.length === MAX_LINES) throw invalid('body', `must have at most ${MAX_LINES} lines`);
      lines.push({ number: count, bytes: body.subarray(start, body[end - 1] === CR ? end - 1 : end) });
    }
    start = end + 1;
  }
  if (lines.length === 0) throw invalid('body', 'must have at least one line');
  return { lines, count };
}

function isBlank(body: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (body[at] !== SPACE && body[at] !== TAB && body[at] !== CR) return false;
  return true;
}
