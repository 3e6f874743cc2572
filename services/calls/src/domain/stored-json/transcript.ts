import type { QaBlock } from '../call.ts';
import { findName, startsOf, type Name } from './find-name.ts';
import { within, type Span } from './marks.ts';

/** The text of the `clean` transcript; null if no block has text. */
export function cleanText(blocks: readonly QaBlock[]): string | null {
  const paragraphs = blocks.map(({ question, answer }) =>
    [question === null ? [] : `Q: ${question}`, answer === null ? [] : `A: ${answer}`].flat().join('\n'),
  );
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n') || null;
}

const NOWHERE: Span[] = [];

/** The whole text, where it is the name. */
export function findWhole(text: string, name: Name | undefined): Span[] {
  if (name === undefined) return NOWHERE;
  for (const start of startsOf(text)) if (findName(text, start, name)) return [[0, text.length]];
  return text.includes('<') && findVoices(text, name).length > 0 ? [[0, text.length]] : NOWHERE;
}

/** The whole text has each speaker as the label of a line, before a colon. So the name is found in speakers such as `Eva:` and `Eva: guest` as it is in labels. */
export function findInSpeaker(speaker: string, name: Name | undefined): Span[] {
  const whole = findWhole(speaker, name);
  return whole.length > 0 ? whole : findLabels(`${speaker}:`, name);
}

const LINE = /[^\n\r\v\f\u0085\u2028\u2029]+/g;
/** The second one stands in Chinese and Japanese text. */
const COLON = /[:\uff1a]/;
const [NARROW, WIDE] = [0x3a, 0xff1a];

/** Where the name is the label of a line: the text before a colon, or the voice in a tag of WebVTT. */
export function findLabels(text: string, name: Name | undefined): Span[] {
  if (name === undefined) return NOWHERE;
  const voices = text.includes('<v') ? findVoices(text, name) : NOWHERE;
  if (!COLON.test(text)) return voices;
  const found: Span[] = [];
  for (const { 0: line, index } of text.matchAll(LINE)) {
    const label = COLON.test(line) ? findLabel(line, name) : undefined;
    if (label) found.push([index + label[0], index + label[1]]);
  }
  return voices.length === 0 ? found : [...found, ...voices].toSorted(([a], [b]) => a - b);
}

/** If the name has n colons, its label can only end at colon n + 1 after the name's start. */
function findLabel(line: string, name: Name): Span | undefined {
  for (const start of startsOf(line)) {
    const end = colonOf(line, start, name.colons);
    const found = end === -1 ? undefined : findName(line.slice(0, end), start, name);
    if (found) return found;
  }
  return undefined;
}

/** The position of the colon after `before` others; -1: there is none. */
function colonOf(line: string, from: number, before: number): number {
  for (let at = from, left = before; at < line.length; at++) {
    const unit = line.charCodeAt(at);
    if ((unit === NARROW || unit === WIDE) && left-- === 0) return at;
  }
  return -1;
}

const VOICE = /<v(?:\.[^\s<>]*)?\s([^<>]+)/g;

/** Where the name is the voice of a WebVTT cue, as in `<v Eva Smith>Hello.` */
function findVoices(text: string, name: Name): Span[] {
  return [...text.matchAll(VOICE)].flatMap(({ 0: tag, 1: voice, index }) => {
    const offset = index + tag.length - voice!.length;
    for (const start of startsOf(voice!)) {
      const found = findName(voice!, start, name);
      if (found) return [[offset + found[0], offset + found[1]] as const];
    }
    return [];
  });
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
