/**
 * Recognizes the interviewee's name as participants, speakers and labels of lines usually spell it. Most names that begin or end with the
 * interviewee's name are somebody else's, so only what is listed here may surround it. The guide for integrators repeats the list.
 */
import { fold } from '@crs/kit/text';
import type { Span } from './marks.ts';

/** A name to look for. */
export interface Name {
  /** The name as recorded, without its suffix in parentheses, and with `Smith, Eva` turned round: each in the form of {@link foldName}. */
  forms: ReadonlySet<string>;
  /** How many {@link STOPS} a form has. */
  stops: ReadonlySet<number>;
  /** How many colons the name has. */
  colons: number;
  /** A longer text isn't compared with the name. A suffix fits, and so do the invisible characters of a usual text. */
  maxLength: number;
}

/** @param name undefined if it is blank, because a blank name would match empty labels */
export function nameOf(name: string | null): Name | undefined {
  const folded = foldName(name ?? '');
  if (name === null || folded === '') return undefined;
  const parenthesis = folded.search(OPENING);
  const names = [folded, folded.slice(0, Math.max(0, parenthesis)).trim()];
  const inverted = names.map((each) => {
    const [last, first, ...more] = each.split(',');
    return first === undefined || more.length > 0 ? '' : foldName(`${first} ${last}`);
  });
  const forms = new Set([...names, ...inverted].filter((form) => form !== ''));
  const stops = new Set([...forms].map((form) => form.split(ANY_STOP).length - 1));
  return { forms, stops, colons: folded.split(':').length - 1, maxLength: 4 * Math.max(name.length, folded.length) + 1_000 };
}

/** Characters without a width, such as a zero-width space: nobody sees that two names differ by them. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const WHITE_SPACE = /\s+/gu;
const WIDE = /[：，（）［］]/g;
const NARROW: Record<string, string> = { '：': ':', '，': ',', '（': '(', '）': ')', '［': '[', '］': ']' };

/** Most labels have nothing but ASCII and single spaces: these are in NFC, and nothing in them is invisible or wide. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** The form in which names are compared, without titles. It has as many colons and {@link STOPS} as the text. */
function foldName(text: string): string {
  const folded = PLAIN.test(text) ? text.toLowerCase() : foldAny(text);
  return folded.slice(skip([TITLE], folded, 0)) || folded;
}

function foldAny(text: string): string {
  const visible = text.replace(INVISIBLE, '').replace(WHITE_SPACE, ' ').trim();
  return fold(visible).replace(WIDE, (wide) => NARROW[wide]!);
}

const TITLE =
  /(?:mr|mrs|ms|miss|mx|sir|dr|doctor|prof|professor|herr|frau|dipl\.?-ing|mme|mlle|monsieur|madame|sr|sra|señor|señora)(?:\. ?| )/uy;

/** The first character of a suffix, as in `Eva Smith, CFO` and `Eva Smith (Contoso)`. */
const STOPS = new Set([',', '(', '[', '，', '（', '［']);
const ANY_STOP = /[,([，（［]/;
const COMMAS = new Set([',', '，']);
const OPENING = /[([]/;
const CLOSING = /[)\]）］]/;

/** What may stand before a name, any number of times. Each pattern is for the position at which the one before ended. */
const SPACE = [/[\s\p{Cf}\p{Default_Ignorable_Code_Point}]+/uy];
const DECORATIONS = [
  ...SPACE,
  // Marks of lists and of Markdown, and quotation marks.
  /[-*+•·‣–—#>_~`"“„]+/y,
  // Numbers of lists: `1.` and `2)`.
  /\d{1,4}[.)](?=\D)/y,
  // Time stamps: `[00:00:05]`, `(00:05)`, `00:00:05.120`.
  /[[(［（]?\d{1,3}[:：]\d\d(?:[:：]\d\d)?(?:[.,]\d{1,6})?[\])］）]?(?=\D)/y,
  // Tags of WebVTT and HTML: `<v Eva Smith>` and `<b>`.
  /<[^<>]{0,200}>/y,
];

/** The position after everything that the patterns match. */
function skip(patterns: readonly RegExp[], text: string, from: number): number {
  let at = from;
  for (let i = 0; i < patterns.length; i++) {
    const pattern = patterns[i]!;
    pattern.lastIndex = at;
    if (pattern.test(text)) {
      at = pattern.lastIndex;
      i = -1;
    }
  }
  return at;
}

/** The positions at which a name may begin in a text that begins with it, or with what may stand before it. */
export function startsOf(text: string): number[] {
  const bare = skip(DECORATIONS, text, 0);
  const first = bare === 0 ? 0 : skip(SPACE, text, 0);
  return first === bare ? [first] : [first, bare];
}

/**
 * The name, where the text is the name alone or with suffixes. The end of the name is found first and the name folded then, because folding may
 * change lengths: a position in the folded text isn't one in the text.
 * @param from one of {@link startsOf}
 */
export function findName(text: string, from: number, name: Name): Span | undefined {
  if (text.length - from > name.maxLength) return undefined;
  for (const stops of name.stops) {
    const stop = findStop(text, from, stops);
    const end = endOf(text, from, stop, (before) => name.forms.has(foldName(before)));
    if (end !== undefined && isSuffix(text, stop)) return [from, end];
  }
  const comma = findStop(text, from, 0);
  return COMMAS.has(text.charAt(comma)) ? findInverted(text, from, comma, name) : undefined;
}

/** `Smith, Eva`, where the name is `Eva Smith`. */
function findInverted(text: string, from: number, comma: number, name: Name): Span | undefined {
  const stop = findStop(text, comma + 1, 0);
  const last = foldName(text.slice(from, comma));
  const end = endOf(text, comma + 1, stop, (first) => name.forms.has(`${foldName(first)} ${last}`));
  return end !== undefined && isSuffix(text, stop) ? [from, end] : undefined;
}

/** The position of the stop after `before` others; where there is none, the end of the text. */
function findStop(text: string, from: number, before: number): number {
  for (let at = from, left = before; at < text.length; at++) {
    if (STOPS.has(text[at]!) && left-- === 0) return at;
  }
  return text.length;
}

const TRAILING_SPACE = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const TRAILING_DECORATION = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}*_~`"”“]/u;

/** The end of a name that stands between the positions, maybe before marks of Markdown. */
function endOf(text: string, from: number, to: number, isName: (text: string) => boolean): number | undefined {
  const end = trimmedEnd(TRAILING_SPACE, text, from, to);
  if (isName(text.slice(from, end))) return end;
  const bare = trimmedEnd(TRAILING_DECORATION, text, from, end);
  return bare < end && isName(text.slice(from, bare)) ? bare : undefined;
}

function trimmedEnd(trailing: RegExp, text: string, from: number, to: number): number {
  let end = to;
  while (end > from && trailing.test(text[end - 1]!)) end--;
  return end;
}

/** Whether suffixes follow, or nothing. In `Eva (or was it Ann) said`, the name is part of a sentence. */
function isSuffix(text: string, stop: number): boolean {
  if (stop === text.length || COMMAS.has(text[stop]!)) return true;
  const close = text.slice(stop).search(CLOSING);
  const next = close === -1 ? text.length : skip(AFTER_PARENTHESIS, text, stop + close + 1);
  return next === text.length || STOPS.has(text[next]!);
}

const AFTER_PARENTHESIS = [...SPACE, /[*_~`"”“]+/y];
