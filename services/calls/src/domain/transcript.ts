import { fold } from '@crs/kit/text';
import type { QaBlock } from './call.ts';
import { within, type Span } from './marks.ts';

/** The text of the `clean` transcript; null if no block has text. */
export function cleanText(blocks: readonly QaBlock[]): string | null {
  const paragraphs = blocks.map(({ question, answer }) =>
    [question === null ? [] : `Q: ${question}`, answer === null ? [] : `A: ${answer}`].flat().join('\n'),
  );
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n') || null;
}

/** A name as it is looked for. Names are compared folded and trimmed. */
export interface Name {
  folded: string;
  /** The number of colons in the name itself. */
  colons: number;
}

/** @param name undefined if it is blank, because a blank name would match empty labels */
export function nameOf(name: string | null): Name | undefined {
  const trimmed = name?.trim();
  return trimmed ? { folded: foldName(trimmed), colons: trimmed.split(COLON).length - 1 } : undefined;
}

/** The second one stands in Chinese and Japanese text. */
const COLON = /[:\uff1a]/;
const [NARROW, WIDE] = [0x3a, 0xff1a];

function foldName(text: string): string {
  return fold(text).replaceAll('\uff1a', ':');
}

const NOWHERE: Span[] = [];

/** The whole text, where it is the name. */
export function findWhole(text: string, name: Name | undefined): Span[] {
  return name !== undefined && foldName(text.trim()) === name.folded ? [[0, text.length]] : NOWHERE;
}

/** The whole text has each speaker as the label of a line, before a colon. So the name is found in speakers such as `Eva:` and `Eva: guest` as it is in labels. */
export function findInSpeaker(speaker: string, name: Name | undefined): Span[] {
  const whole = findWhole(speaker, name);
  return whole.length > 0 ? whole : findLabels(`${speaker}:`, name);
}

const LINE = /[^\n\r\v\f\u0085\u2028\u2029]+/g;

/**
 * Where the name is the label of a line: the text before a colon. Folding neither adds nor removes colons. So if the name has n colons, the
 * label can only end at colon n + 1 of the line. The candidate is cut out of the line first and folded then, because folding may change
 * lengths: a position in a folded line is no position in the line.
 */
export function findLabels(text: string, name: Name | undefined): Span[] {
  if (name === undefined || !COLON.test(text)) return NOWHERE;
  const found: Span[] = [];
  for (const { 0: line, index } of text.matchAll(LINE)) {
    const end = colonOf(line, name.colons);
    if (end === -1) continue;
    const candidate = line.slice(0, end);
    const label = candidate.trim();
    if (foldName(label) !== name.folded) continue;
    const start = index + candidate.indexOf(label);
    found.push([start, start + label.length]);
  }
  return found;
}

/** The position of the colon after `before` others; -1: there is none. */
function colonOf(line: string, before: number): number {
  for (let at = 0; at < line.length; at++) {
    const unit = line.charCodeAt(at);
    if ((unit === NARROW || unit === WIDE) && before-- === 0) return at;
  }
  return -1;
}

/** Between a speaker and what is said, in the whole text. */
export const AFTER_SPEAKER = ': ';

/**
 * A name with colons may begin in the speaker and end in what is said: only the line of both has it as its label.
 * @returns undefined where no name is divided so
 */
export function findAcross(speaker: string | null, text: string, name: Name | undefined) {
  if (!speaker || !name?.colons) return undefined;
  const line = `${speaker}${AFTER_SPEAKER}${text}`;
  const found = findLabels(line, name);
  if (!found.some(([start, end]) => start < speaker.length && end > speaker.length)) return undefined;
  const inSpeaker = within(found, 0, speaker.length);
  return { line, found, inSpeaker, inText: within(found, line.length - text.length, line.length) };
}
