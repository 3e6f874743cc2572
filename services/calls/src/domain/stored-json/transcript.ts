import type { QaBlock } from '../call.ts';
import { findName, findNameAt, namesIn, possibleStarts, type NamePattern } from './find-name.ts';
import { clipSpans, type Span } from './placeholders.ts';

/** Returns the text of the `clean` transcript, or null if no block has text. */
export function cleanText(blocks: readonly QaBlock[]): string | null {
  const paragraphs = blocks.map(({ question, answer }) =>
    [question === null ? [] : `Q: ${question}`, answer === null ? [] : `A: ${answer}`].flat().join('\n'),
  );
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n') || null;
}

const CHUNK_LENGTH = 64 * 1024;
const LINE_END = /[\n\r\v\f\u0085\u2028\u2029]/g;

/** Splits a text at line ends. The name may label millions of lines, whose spans would exhaust the memory all at once. */
export function* linesInChunks(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    LINE_END.lastIndex = at + CHUNK_LENGTH;
    const end = LINE_END.test(text) ? LINE_END.lastIndex : text.length;
    yield text.slice(at, end);
    at = end;
  }
}

/** Whether a participant or speaker is the interviewee. */
export function isName(text: string, name: NamePattern | undefined): boolean {
  if (name === undefined) return false;
  return findName(text, name) !== undefined || (text.includes('<') && findVoices(text, name).length > 0);
}

/**
 * Finds what stands for the interviewee in a speaker: all of it, or else the labels in it. The transcript's `text` puts a colon after each speaker,
 * so `Eva: guest` is a label there, and must be one here.
 */
export function findInSpeaker(speaker: string, name: NamePattern | undefined): Span[] {
  return isName(speaker, name) ? [[0, speaker.length]] : findLabels(`${speaker}:`, name);
}

const LINE = /[^\n\r\v\f\u0085\u2028\u2029]+/g;
/** ASCII, and full-width as in Chinese and Japanese text. */
const COLON = /[:\uff1a]/;

/** Finds the name as the label of a line: before a colon, or as the voice in a WebVTT tag. */
export function findLabels(text: string, name: NamePattern | undefined): Span[] {
  if (name === undefined) return [];
  const voices = text.includes('<v') ? findVoices(text, name) : [];
  if (!COLON.test(text)) return voices;
  const labels: Span[] = [];
  for (const { 0: line, index } of text.matchAll(LINE)) {
    const label = COLON.test(line) ? findLabel(line, name) : undefined;
    if (label) labels.push([index + label[0], index + label[1]]);
  }
  return voices.length === 0 ? labels : [...labels, ...voices].toSorted(([a], [b]) => a - b);
}

/** The label of a name with n colons can only end at colon n + 1 after the start of the name. */
function findLabel(line: string, name: NamePattern): Span | undefined {
  for (const start of possibleStarts(line)) {
    const end = findColon(line, start, name.colonCount);
    const found = end === -1 ? undefined : findNameAt(line.slice(0, end), start, name);
    if (found) return found;
  }
  return undefined;
}

/** Returns the position of the next colon after `skipped` others, or -1. */
function findColon(line: string, from: number, skipped: number): number {
  for (let at = from, left = skipped; at < line.length; at++) {
    if ((line[at] === ':' || line[at] === '\uff1a') && left-- === 0) return at;
  }
  return -1;
}

const VOICE = /<v(?:\.[^\s<>]*)?\s([^<>]+)/g;

/** Finds the name as the voice of a WebVTT cue, as in `<v Eva Smith>Hello.` */
function findVoices(text: string, name: NamePattern): Span[] {
  return [...text.matchAll(VOICE)].flatMap(({ 0: tag, 1: voice, index }) => {
    const offset = index + tag.length - voice!.length;
    const found = findName(voice!, name);
    return found ? [[offset + found[0], offset + found[1]] as const] : [];
  });
}

/** Returns each name without a colon that {@link findLabels} would find in the text, normalized. */
export function* namesInLabels(text: string): Generator<string> {
  for (const [, voice] of text.includes('<v') ? text.matchAll(VOICE) : []) yield* namesIn(voice!);
  if (!COLON.test(text)) return;
  for (const [line] of text.matchAll(LINE)) {
    for (const start of COLON.test(line) ? possibleStarts(line) : []) {
      const end = findColon(line, start, 0);
      if (end !== -1) yield* namesIn(line.slice(0, end));
    }
  }
}

/** Separates a speaker from the segment's text in the transcript's `text`. */
export const AFTER_SPEAKER = ': ';

/**
 * Finds a name with colons that starts in a speaker and ends in the segment's text, so that only the joined line has it as its label.
 * @returns the joined line, and the spans in it, in the speaker and in the text; undefined if no name does that
 */
export function findAcross(speaker: string | null, text: string, name: NamePattern | undefined) {
  if (!speaker || !name?.colonCount) return undefined;
  const line = `${speaker}${AFTER_SPEAKER}${text}`;
  const found = findLabels(line, name);
  if (!found.some(([start, end]) => start < speaker.length && end > speaker.length)) return undefined;
  const inSpeaker = clipSpans(found, 0, speaker.length);
  return { line, found, inSpeaker, inText: clipSpans(found, line.length - text.length, line.length) };
}
