/** No writing system puts more combining marks on one character: the bound of stream-safe text (UAX #15, section 13). */
const TOO_MANY_MARKS = /\p{M}{30}(?=\p{M})/gu;

/**
 * Normalizes text for case-insensitive comparison. Normalization sorts each run of combining marks in quadratic time: 30,000 marks would take a second,
 * and an import line may hold millions. So longer runs are split by U+034F, which exists for this purpose.
 */
export function fold(text: string): string {
  return text.replace(TOO_MANY_MARKS, '$&\u034f').normalize('NFC').toLowerCase();
}

/** Length in Unicode code points. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** Returns why a text can't be stored, to follow the field's name; undefined if it can. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain the NUL character';
  if (!text.isWellFormed()) return 'must not contain a lone surrogate';
  return undefined;
}

/** Orders by code point, unlike `<`, which compares UTF-16 code units. */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the UUID in lower case; undefined if the text isn't 8-4-4-4-12 hexadecimal digits. */
export function parseUuid(text: string): string | undefined {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : undefined;
}

const EMAIL = /^[^\s@]+@[^\s@]+$/u;

/** Whether the text is `local@domain`, of 3 to 254 characters. */
export function isEmail(text: string): boolean {
  return text.length <= 508 && lengthOf(text) <= 254 && EMAIL.test(text);
}

export const ORGANIZATION_ID = /^[a-z0-9][a-z0-9-]{0,39}$/;
export const CALL_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const RFC3339 = /^(?!0000)(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

const MIN_TIME = Date.parse('0001-01-01T00:00:00.000Z');
const MAX_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses an RFC 3339 date-time with an offset, truncated to the millisecond. Stored timestamps and the bounds of queries both pass through here, so a bound
 * with microseconds finds the record with the same timestamp.
 * @returns undefined for any other text, for a date that doesn't exist, and for UTC years outside 0001..9999
 */
export function parseTimestamp(text: string): Date | undefined {
  const date = RFC3339.exec(text)?.[1];
  if (date === undefined || !isDate(date)) return undefined;
  // V8 misreads fractions of more than nine digits.
  const time = Date.parse(text.toUpperCase().replace(/(\.\d{3})\d+/, '$1'));
  return time < MIN_TIME || time > MAX_TIME ? undefined : new Date(time);
}

/** Whether the day exists. `Date.parse` reads February 30 as March 1. */
function isDate(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(8));
}
