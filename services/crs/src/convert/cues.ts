import { Failure } from '../failure.ts';

/** A cue of WebVTT or SubRip. */
export interface Cue {
  startSeconds: number;
  /** As written, with tags, entities and line breaks. */
  text: string;
}

const TIMING =
  /^[ \t]*((?:\d{1,6}:)?[0-5]?\d:[0-5]\d[.,]\d{1,3})[ \t]*-->[ \t]*(?:\d{1,6}:)?[0-5]?\d:[0-5]\d[.,]\d{1,3}(?:[ \t]|$)/;
const SKIPPED_BLOCK = /^(?:NOTE(?:[ \t]|$)|(?:STYLE|REGION)[ \t]*$)/;

/** Returns an error that names a line of the file by its index. It never repeats the line, which is confidential. */
export function wrongLine(index: number, problem: string): Failure {
  return new Failure('file', `line ${index + 1}: ${problem}`);
}

/**
 * Reads the cues that follow the header, in the order of the file. Blank lines separate them.
 * @param start index of the first line after the header
 */
export function* readCues(lines: readonly string[], start: number): Generator<Cue> {
  for (let at = start; at < lines.length; at++) {
    if (lines[at] === '') continue;
    const end = endOfBlock(lines, at);
    const cue = readBlock(lines, at, end);
    if (cue) yield cue;
    at = end;
  }
}

/** Returns the index of the blank line after a block, or the number of lines. */
export function endOfBlock(lines: readonly string[], start: number): number {
  const end = lines.indexOf('', start);
  return end === -1 ? lines.length : end;
}

function readBlock(lines: readonly string[], start: number, end: number): Cue | undefined {
  // A cue may have an id above its timing.
  for (let at = start; at < Math.min(start + 2, end); at++) {
    const [, time] = TIMING.exec(lines[at]!) ?? [];
    if (time !== undefined) return { startSeconds: secondsOf(time), text: textOf(lines, at + 1, end) };
  }
  if (SKIPPED_BLOCK.test(lines[start]!)) return undefined;
  const at = start + 1 < end && !lines[start]!.includes('-->') ? start + 1 : start;
  throw wrongLine(at, 'must be the timing of a cue, like 00:00:05.000 --> 00:00:09.000; text has no blank line above it');
}

function textOf(lines: readonly string[], start: number, end: number): string {
  const text = lines.slice(start, end);
  const next = text.findIndex((line) => TIMING.test(line));
  if (next !== -1) throw wrongLine(start + next, 'starts a cue without a blank line above it: insert one');
  return text.join('\n');
}

/** In whole milliseconds first, because a sum of fractions would be inexact. */
function secondsOf(time: string): number {
  const [milliseconds = '', ...rest] = time.split(/[:.,]/).toReversed();
  const [seconds = 0, minutes = 0, hours = 0] = rest.map(Number);
  return (hours * 60 + minutes) * 60 + seconds + Number(milliseconds.padEnd(3, '0')) / 1000;
}
