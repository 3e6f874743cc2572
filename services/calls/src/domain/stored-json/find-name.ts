/**
 * Finds the interviewee's name as participants, speakers and line labels usually spell it. Only the titles, decorations and suffixes listed
 * here may surround it, because a longer name, such as `Eva Smith-Brown`, is usually somebody else's. The integrator's guide repeats the list.
 */
import { fold } from '@crs/kit/text';
import type { Span } from './placeholders.ts';

/** A name to search for. */
export interface NamePattern {
  /** Normalized by {@link normalizeName}: the recorded name, the name without a suffix in parentheses, and `Smith, Eva` as `eva smith`. */
  spellings: ReadonlySet<string>;
  /** How many {@link SUFFIX_STARTS} the spellings contain. A name in a text ends before the next one. */
  suffixStartCounts: ReadonlySet<number>;
  colonCount: number;
  /** A longer text isn't compared with the name. The limit allows for suffixes and invisible characters. */
  maxLength: number;
}

/** @returns undefined for a blank name, which would match empty labels */
export function toNamePattern(name: string | null): NamePattern | undefined {
  const normalized = normalizeName(name ?? '');
  if (name === null || normalized === '') return undefined;
  const parenthesis = normalized.search(/[([]/);
  const names = [normalized, normalized.slice(0, Math.max(0, parenthesis)).trim()];
  const inverted = names.map((each) => {
    const [last, first, ...more] = each.split(',');
    return first === undefined || more.length > 0 ? '' : normalizeName(`${first} ${last}`);
  });
  const spellings = new Set([...names, ...inverted].filter((spelling) => spelling !== ''));
  return {
    spellings,
    suffixStartCounts: new Set([...spellings].map((spelling) => spelling.split(/[,([，（［]/).length - 1)),
    colonCount: normalized.split(':').length - 1,
    maxLength: 4 * Math.max(name.length, normalized.length) + 1_000,
  };
}

/** More colons and suffixes than names have. They bound the work for a person with a thousand names. */
const MAX_COLON_COUNTS = 4;
const MAX_SUFFIX_COUNTS = 8;

/** Joins the names of one person, so that a text is searched once for all of them, except that names with colons need one more search. */
export function joinPatterns(names: readonly NamePattern[]): NamePattern[] {
  const byColons = [...Map.groupBy(names, ({ colonCount }) => colonCount)].toSorted(([a], [b]) => a - b);
  return byColons.slice(0, MAX_COLON_COUNTS).map(([colonCount, alike]) => ({
    spellings: new Set(alike.flatMap(({ spellings }) => [...spellings])),
    suffixStartCounts: new Set(
      alike
        .flatMap(({ suffixStartCounts }) => [...suffixStartCounts])
        .toSorted((a, b) => a - b)
        .slice(0, alike.length === 1 ? undefined : MAX_SUFFIX_COUNTS),
    ),
    colonCount,
    maxLength: alike.reduce((longest, { maxLength }) => Math.max(longest, maxLength), 0),
  }));
}

/** Zero-width characters: two names that differ only by them look the same. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
const TO_ASCII: Record<string, string> = { '：': ':', '，': ',', '（': '(', '）': ')', '［': '[', '］': ']' };

/** Matches most labels. ASCII with single spaces needs no Unicode normalization. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/** Folds case, white space and full-width punctuation, and drops titles. Keeps the number of colons and {@link SUFFIX_STARTS}. */
function normalizeName(text: string): string {
  const normalized = PLAIN.test(text) ? text.toLowerCase() : normalizeUnicode(text);
  return normalized.slice(skip([TITLE], normalized, 0)) || normalized;
}

const ASCII = /^[\0-\x7f]*$/;

/** Folds case and white space, and drops invisible characters, so that a name is found in running text however it is broken over lines. */
export function normalizeText(text: string): string {
  const folded = ASCII.test(text) ? text.toLowerCase() : fold(text.replace(INVISIBLE, ''));
  return folded.replace(/\s+/gu, ' ');
}

function normalizeUnicode(text: string): string {
  const visible = text.replace(INVISIBLE, '').replace(/\s+/gu, ' ').trim();
  return fold(visible).replace(/[：，（）［］]/g, (fullWidth) => TO_ASCII[fullWidth]!);
}

const TITLE =
  /(?:mr|mrs|ms|miss|mx|sir|dr|doctor|prof|professor|herr|frau|dipl\.?-ing|mme|mlle|monsieur|madame|sr|sra|señor|señora)(?:\. ?| )/uy;

/** Each begins a suffix, as in `Eva Smith, CFO` and `Eva Smith (Contoso)`. */
const SUFFIX_STARTS = new Set([',', '(', '[', '，', '（', '［']);
const COMMAS = new Set([',', '，']);

const SPACE = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}]+/uy;
/** May precede a name, in any order and number. */
const DECORATIONS = [
  SPACE,
  // List bullets, Markdown and quotation marks.
  /[-*+•·‣–—#>_~`"“„]+/y,
  // List numbers: `1.` and `2)`.
  /\d{1,4}[.)](?=\D)/y,
  // Timestamps: `[00:00:05]`, `(00:05)`, `00:00:05.120`.
  /[[(［（]?\d{1,3}[:：]\d\d(?:[:：]\d\d)?(?:[.,]\d{1,6})?[\])］）]?(?=\D)/y,
  // WebVTT and HTML tags: `<v Eva Smith>` and `<b>`.
  /<[^<>]{0,200}>/y,
];

/** Returns the position after all consecutive matches of the sticky patterns. A loop, because one repeated pattern would need stack for each match. */
function skip(patterns: readonly RegExp[], text: string, from: number): number {
  let at = from;
  for (;;) {
    const matching = patterns.find((pattern) => {
      pattern.lastIndex = at;
      return pattern.test(text);
    });
    if (!matching) return at;
    at = matching.lastIndex;
  }
}

/** The positions where a name may start: after leading white space, and after all leading decorations, which may be part of a name. */
export function possibleStarts(text: string): number[] {
  const undecorated = skip(DECORATIONS, text, 0);
  const first = undecorated === 0 ? 0 : skip([SPACE], text, 0);
  return first === undecorated ? [first] : [first, undecorated];
}

/** Finds the name in a text that consists of decorations, the name and suffixes only. */
export function findName(text: string, name: NamePattern): Span | undefined {
  for (const start of possibleStarts(text)) {
    const found = findNameAt(text, start, name);
    if (found) return found;
  }
  return undefined;
}

/**
 * Finds the name at a position, if only suffixes follow. Candidates are cut out of the text before they are normalized, because normalization
 * may change lengths, and with them positions.
 * @param start one of {@link possibleStarts}
 */
export function findNameAt(text: string, start: number, name: NamePattern): Span | undefined {
  if (text.length - start > name.maxLength) return undefined;
  for (const count of name.suffixStartCounts) {
    const suffix = findSuffix(text, start, count);
    const end = findEnd(text, start, suffix, (candidate) => name.spellings.has(normalizeName(candidate)));
    if (end !== undefined && hasOnlySuffixes(text, suffix)) return [start, end];
  }
  const comma = findSuffix(text, start, 0);
  return COMMAS.has(text.charAt(comma)) ? findInverted(text, start, comma, name) : undefined;
}

/** More suffixes than any label has. */
const MAX_SUFFIXES = 4;

/** Returns each name that {@link findName} would find in the text, normalized. For names that are known only by digests of their spellings. */
export function namesIn(text: string): Set<string> {
  const names = new Set<string>();
  for (const start of possibleStarts(text)) {
    for (let count = 0; count <= MAX_SUFFIXES; count++) {
      const suffix = findSuffix(text, start, count);
      findEnd(text, start, suffix, (candidate) => void names.add(normalizeName(candidate)));
      if (suffix === text.length) break;
    }
    const comma = findSuffix(text, start, 0);
    if (!COMMAS.has(text.charAt(comma))) continue;
    const last = normalizeName(text.slice(start, comma));
    const end = findSuffix(text, comma + 1, 0);
    findEnd(text, comma + 1, end, (first) => void names.add(`${normalizeName(first)} ${last}`));
  }
  return names;
}

/** Finds `Smith, Eva` for the name `Eva Smith`. */
function findInverted(text: string, start: number, comma: number, name: NamePattern): Span | undefined {
  const suffix = findSuffix(text, comma + 1, 0);
  const last = normalizeName(text.slice(start, comma));
  const end = findEnd(text, comma + 1, suffix, (first) => name.spellings.has(`${normalizeName(first)} ${last}`));
  return end !== undefined && hasOnlySuffixes(text, suffix) ? [start, end] : undefined;
}

/** Returns the position of the next suffix start after `skipped` others, or the end of the text. */
function findSuffix(text: string, from: number, skipped: number): number {
  for (let at = from, left = skipped; at < text.length; at++) {
    if (SUFFIX_STARTS.has(text[at]!) && left-- === 0) return at;
  }
  return text.length;
}

const TRAILING_SPACE = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const TRAILING_DECORATION = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}*_~`"”“]/u;

/** Returns the end of the name between two positions, without trailing space, and without Markdown unless it is part of the name. */
function findEnd(text: string, from: number, to: number, isName: (candidate: string) => boolean | void): number | undefined {
  const end = trimmedEnd(TRAILING_SPACE, text, from, to);
  if (isName(text.slice(from, end))) return end;
  const undecorated = trimmedEnd(TRAILING_DECORATION, text, from, end);
  return undecorated < end && isName(text.slice(from, undecorated)) ? undecorated : undefined;
}

function trimmedEnd(trailing: RegExp, text: string, from: number, to: number): number {
  let end = to;
  while (end > from && trailing.test(text[end - 1]!)) end--;
  return end;
}

const AFTER_PARENTHESIS = [SPACE, /[*_~`"”“]+/y];

/** Whether the rest of the text is suffixes or empty. In `Eva (or was it Ann) said`, the name is part of a sentence. */
function hasOnlySuffixes(text: string, suffix: number): boolean {
  if (suffix === text.length || COMMAS.has(text[suffix]!)) return true;
  const close = text.slice(suffix).search(/[)\]）］]/);
  const next = close === -1 ? text.length : skip(AFTER_PARENTHESIS, text, suffix + close + 1);
  return next === text.length || SUFFIX_STARTS.has(text[next]!);
}
