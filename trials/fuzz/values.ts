/** Generates values that are valid or invalid by a JSON Schema. Supports the keywords that our schemas use. */
import fc from 'fast-check';
import type { Schema } from '@crs/testing/openapi';

/** Characters of every kind, except NUL and lone surrogates. */
const unit = fc.oneof(
  { arbitrary: fc.constantFrom(...Array.from('abcXYZ019 _-.%\\\'"<>&{}')), weight: 4 },
  { arbitrary: fc.constantFrom(...Array.from('éßİıﬁ\u0301\u200b\u202e\ufeff\u2028\t\n\x7f\u{1f469}\u{10ffff}٣')), weight: 1 },
  { arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map((char) => (char === '\0' ? 'a' : char)), weight: 1 },
);

/** Storable text with a number of code points in this range, including long text. */
export function text(min: number, max: number): fc.Arbitrary<string> {
  const short = fc.string({ unit, minLength: min, maxLength: Math.min(max, min + 40) });
  const filled = fc.tuple(unit, fc.constantFrom(max, Math.max(min, max - 1))).map(([char, length]) => char.repeat(length));
  return fc.oneof({ arbitrary: short, weight: 9 }, { arbitrary: filled, weight: 1 });
}

/** Text that can't be stored. */
const unstorable: fc.Arbitrary<string> = fc
  .tuple(text(0, 20), fc.constantFrom('\0', '\ud800', '\udfff', '\udc00\ud800'), text(0, 20))
  .map(([before, char, after]) => before + char + after)
  .filter((value) => value.includes('\0') || !value.isWellFormed());

/** Any JSON, including odd names and extreme numbers. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1e308, 2 ** 53, 5e-324, '', [], {}, [[]], { a: {} }),
  fc.jsonValue({ maxDepth: 3 }),
);

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether a text has the format of a timestamp. Its date need not exist. */
const looksLikeTimestamp = (value: string) => DATE_TIME.test(value);

/** Generates a timestamp in one of its formats. */
function someTimestamp(): fc.Arbitrary<string> {
  const epochMs = fc.integer({ min: Date.UTC(1900, 0), max: Date.UTC(2100, 0) });
  const offset = fc.oneof(fc.constant(undefined), fc.integer({ min: -1439, max: 1439 }));
  const digits = fc.constantFrom('', '0', '000000', '0'.repeat(30));
  return fc.tuple(epochMs, offset, digits, fc.boolean()).map(([ms, minutes, more, isLower]) => {
    const local = new Date(ms + (minutes ?? 0) * 60_000).toISOString().slice(0, -1) + more;
    const two = (value: number) => String(value).padStart(2, '0');
    const zone =
      minutes === undefined
        ? 'Z'
        : `${minutes < 0 ? '-' : '+'}${two(Math.trunc(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
    return isLower ? (local + zone).toLowerCase() : local + zone;
  });
}

const NO_TIMESTAMPS = [
  '2025-02-29T00:00:00Z', '2025-01-01T00:00:60Z', '2025-01-01T24:00:00Z', '2025-13-01T00:00:00Z', '2025-00-10T00:00:00Z', '2025-01-32T00:00:00Z',
  '0000-01-01T00:00:00Z', '0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '2025-01-01', '2025-01-01T00:00:00', '2025-01-01 00:00:00Z',
  '2025-01-01T00:00:00 01:00', '2025-01-01T00:00Z', '2025-01-01T00:00:00.Z', '2025-01-01T00:00:00+24:00', '2025-01-01T00:00:00+01:60',
  '2025-01-01T00:00:00+0100', '+002025-01-01T00:00:00Z', '10000-01-01T00:00:00Z', '٢٠٢٥-01-01T00:00:00Z', '1735689600', 'now', 'NaN',
  '2025-01-01T00:00:00Z\n', ' 2025-01-01T00:00:00Z', '2025-01-01T00:00:00Z\0', '2025‑01‑01T00:00:00Z', 'undefined', 'Infinity',
]; // prettier-ignore

const noTimestamp = fc.oneof(
  fc.constantFrom(...NO_TIMESTAMPS),
  text(1, 10_000).filter((value) => !looksLikeTimestamp(value)),
);

const noUuid = fc.oneof(
  fc.constantFrom('0', 'null', '11111111-2222-4333-8444-55555555555', '111111112222433384445555555555555', '{11111111-2222-4333-8444-555555555555}', '1111111g-2222-4333-8444-555555555555', '11111111-2222-4333-8444-555555555555 ', '١1111111-2222-4333-8444-555555555555'), // prettier-ignore
  text(1, 10_000).filter((value) => !UUID.test(value)),
);

const typesOf = (schema: Schema): string[] => [schema['type']].flat() as string[];
const numberOf = (schema: Schema, key: string) => schema[key] as number | undefined;

/** Generates values that the schema allows, including its formats, except null. */
export function valid(schema: Schema): fc.Arbitrary<unknown> {
  const options = schema['enum'] as unknown[] | undefined;
  if (options) return fc.constantFrom(...options.filter((option) => option !== null));
  const [type] = typesOf(schema).filter((each) => each !== 'null');
  const min = numberOf(schema, 'minimum');
  const max = numberOf(schema, 'maximum');
  switch (type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.oneof(fc.integer({ min: min ?? -1e9, max: max ?? 1e9 }), fc.constantFrom(min ?? 0, max ?? 2 ** 31));
    case 'number':
      return fc.oneof(
        fc.double({ min: min ?? -1e300, max: max ?? 1e300, noNaN: true }),
        fc.integer({ min: min ?? -1000, max: max ?? 1000 }),
      );
    case 'string':
      return validText(schema);
    case 'array':
      return fc.array(valid(schema['items'] as Schema), { maxLength: Math.min(numberOf(schema, 'maxItems') ?? 5, 5) });
    default:
      throw new Error(`no values for ${JSON.stringify(schema)}`);
  }
}

function validText(schema: Schema): fc.Arbitrary<string> {
  if (schema['format'] === 'date-time') return someTimestamp();
  if (schema['format'] === 'uuid') return fc.uuid();
  const pattern = schema['pattern'] === undefined ? undefined : new RegExp(schema['pattern'] as string, 'u');
  const some = text(numberOf(schema, 'minLength') ?? 0, numberOf(schema, 'maxLength') ?? 300);
  return pattern ? some.filter((value) => pattern.test(value)) : some;
}

/** Generates JSON that the schema doesn't allow. Excludes null, which often means absent; callers add it if it doesn't. */
export function broken(schema: Schema): fc.Arbitrary<unknown> {
  const types = typesOf(schema);
  const options = schema['enum'] as unknown[] | undefined;
  const min = numberOf(schema, 'minimum');
  const max = numberOf(schema, 'maximum');
  const otherTypes = anyJson.filter((value) => value !== null && !types.some((type) => isOf(value, type)));
  const wrong: fc.Arbitrary<unknown>[] = [otherTypes];
  if (types.includes('string')) {
    if (options) wrong.push(text(0, 100).filter((value) => !options.includes(value)));
    else if (schema['format'] === 'date-time') wrong.push(noTimestamp);
    else if (schema['format'] === 'uuid') wrong.push(noUuid);
    else {
      const [least, most] = [numberOf(schema, 'minLength') ?? 0, numberOf(schema, 'maxLength')];
      wrong.push(unstorable);
      if (least > 0) wrong.push(fc.constant(''));
      if (most !== undefined) wrong.push(fc.integer({ min: most + 1, max: most + 10_000 }).map((length) => 'a'.repeat(length)));
    }
  }
  if (types.includes('integer') || types.includes('number')) {
    // Strings, because some can't be written as number literals.
    if (types.includes('integer')) wrong.push(fc.constantFrom(1.5, 1e300, 2 ** 53 + 2, -(2 ** 53)));
    if (min !== undefined) wrong.push(fc.constantFrom(min - 1, -1e308, min - 1e9));
    if (max !== undefined) wrong.push(fc.constantFrom(max + 1, 1e308, 2 ** 31, 2 ** 53));
  }
  if (types.includes('array')) {
    const items = schema['items'] as Schema;
    wrong.push(
      broken(items).map((item) => [item]),
      fc.tuple(valid(items), broken(items)),
    );
    const most = numberOf(schema, 'maxItems');
    if (most !== undefined) wrong.push(valid(items).map((item) => Array<unknown>(most + 1).fill(item)));
  }
  return fc.oneof(...wrong);
}

function isOf(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return type === 'null' ? value === null : typeof value === type;
}
