import { isUtf8 } from 'node:buffer';
import { Failure } from '../failure.ts';
import { endOfBlock, readCues, wrongLine, type Cue } from './cues.ts';
import { readCueText, type Utterance } from './cue-text.ts';
import type { Format } from './formats.ts';
import { isSavedCaptions, readSavedCaptions } from './saved-captions.ts';

/** A segment of a call's `transcript`. */
export interface Segment {
  speaker: string | null;
  start_seconds: number;
  text: string;
}

/** The import's limit. */
const MAX_SEGMENTS = 20_000;

type Lines = readonly string[];

const READERS: Record<Format, (lines: Lines) => Iterable<Segment>> = {
  vtt: (lines) => fromCues(readWebVtt(lines)),
  srt: (lines) => fromCues(readSubRip(lines)),
  zoom: (lines) => (isSavedCaptions(lines) ? readSavedCaptions(lines) : fromCues(readWebVtt(lines), namedByPrefix)),
  // Teams exports plain WebVTT, whose cue ids are GUIDs.
  teams: (lines) => fromCues(readWebVtt(lines)),
};

/** Converts a file with captions or a transcript. @throws Failure that names the wrong line */
export function convert(format: Format, file: Buffer): Segment[] {
  const lines = decode(file).split(/\r\n|\r|\n/);
  if (lines.every((line) => line.trim() === '')) return [];
  const segments: Segment[] = [];
  for (const segment of READERS[format](lines)) {
    if (segments.length === MAX_SEGMENTS) {
      throw new Failure('file', 'The transcript has more than 20,000 segments, the most that a call can have: split the file.');
    }
    segments.push(segment);
  }
  return segments;
}

function decode(file: Buffer): string {
  if (!isUtf8(file)) {
    throw new Failure('file', 'The file must be UTF-8: convert it first, such as with `iconv -f UTF-16 -t UTF-8`.');
  }
  return file.toString().replace(/^\uFEFF/, '');
}

function* fromCues(
  cues: Iterable<Cue>,
  read: (utterance: Utterance) => Utterance = (utterance) => utterance,
): Generator<Segment> {
  for (const { startSeconds, text } of cues) {
    for (const utterance of readCueText(text)) {
      const { speaker, text: said } = read(utterance);
      yield { speaker, start_seconds: startSeconds, text: said };
    }
  }
}

function readWebVtt(lines: Lines): Iterable<Cue> {
  if (!/^WEBVTT(?:[ \t]|$)/.test(lines[0]!)) throw wrongLine(0, 'must be WEBVTT; for SubRip, use --from srt');
  const timing = lines.findIndex((line) => line.includes('-->'));
  const end = endOfBlock(lines, 0);
  return readCues(lines, timing === -1 ? end : Math.min(end, timing));
}

function readSubRip(lines: Lines): Iterable<Cue> {
  if (lines[0]!.startsWith('WEBVTT')) throw wrongLine(0, 'is the start of WebVTT: use --from vtt, zoom or teams');
  return readCues(
    lines.map((line) => line.trim()),
    0,
  );
}

/** A name on Zoom has at most 64 characters. */
const PREFIX = /^([^:]{1,64}): (\S.*)$/s;

/** Zoom puts the speaker before the text. */
function namedByPrefix(utterance: Utterance): Utterance {
  const [, speaker, text] = (utterance.speaker === null && PREFIX.exec(utterance.text)) || [];
  return speaker !== undefined && text !== undefined ? { speaker, text } : utterance;
}
