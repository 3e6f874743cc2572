/** Rules for text and instants, the same in all services. */

/** No writing system puts more combining marks on one character; this is the bound of stream-safe text (UAX #15, section 13). */
const TOO_MANY_MARKS = /\p{M}{30}(?=\p{M})/gu;

/**
 * The form in which texts are compared where case doesn't matter. Sorting a run of combining marks takes quadratic time, so a longer run is
 * divided by U+034F, which separates marks for this purpose: 30,000 marks in a row would take a second, and an import line may hold
 * millions.
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

/** Why a text can't be stored, as a sentence that begins with the field's name. Undefined if it can be stored. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain the NUL character';
  if (!text.isWellFormed()) return 'must not contain a lone surrogate';
  return undefined;
}

/** Order by code point (which UTF-16 order is not). */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id in lower case, or undefined if it is not of the form 8-4-4-4-12 hex. */
export function parseUuid(text: string): string | undefined {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : undefined;
}

const EMAIL = /^[^\s@]+@[^\s@]+$/u;

/** Whether the text is `local@domain`, with 3 to 254 characters. */
export function isEmail(text: string): boolean {
  return text.length <= 508 && lengthOf(text) <= 254 && EMAIL.test(text);
}

export const ORGANIZATION_ID = /^[a-z0-9][a-z0-9-]{0,39}$/;
export const CALL_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const RFC3339 = /^(?!0000)(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

const FIRST_INSTANT = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The instant of an RFC 3339 date-time with offset. Digits after the millisecond are cut off. Stored instants and bounds both come through
 * here, so a bound with microseconds finds the record with that very instant.
 * @returns undefined for any other text, for a date that doesn't exist, and for years outside 0001..9999
 */
export function parseInstant(text: string): Date | undefined {
  const date = RFC3339.exec(text)?.[1];
  if (date === undefined || !isDate(date)) return undefined;
  // V8 misreads fractions of more than nine digits.
  const time = Date.parse(text.toUpperCase().replace(/(\.\d{3})\d+/, '$1'));
  return time < FIRST_INSTANT || time > LAST_INSTANT ? undefined : new Date(time);
}

/** Whether the day exists. `Date.parse` takes February 30 for March 1. */
function isDate(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(8));
}
