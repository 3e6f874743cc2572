/** Generates paths and queries that follow the parameters of an operation, and others that don't. */
import fc from 'fast-check';
import type { Parameter, Schema } from '@crs/testing/openapi';
import { CALL_IDS, PROJECTS } from './records.ts';
import { bad, good, mostly, open, type Part } from './request.ts';
import { broken, instantOf, noInstant, noUuid, someInstant, text, valid } from './values.ts';

type Pairs = [name: string, value: string][];

/** The value of a parameter as text, before it is encoded; null where there is no value of that kind. */
function asText(schema: Schema): { valid: fc.Arbitrary<string>; broken: fc.Arbitrary<string> } {
  switch (schema['type']) {
    case 'integer': {
      const [min, max] = [schema['minimum'] as number, schema['maximum'] as number];
      const isValid = (value: string) => /^[1-9]\d{0,15}$/.test(value) && Number(value) >= min && Number(value) <= max;
      const odd = fc.constantFrom('', '0', '-1', '01', '+1', '1.0', '1e1', '0x1', ' 1', '1 ', '1\0', '1,1', '٣', '１', 'NaN', 'null', String(max + 1), '9'.repeat(400));
      return { valid: valid(schema).map(String), broken: fc.oneof(odd, text(1, 10_000), broken(schema).map(String)).filter((value) => !isValid(value)) };
    }
    case 'boolean':
      return {
        valid: fc.constantFrom('true', 'false'),
        broken: fc.oneof(fc.constantFrom('', 'TRUE', 'True', '1', '0', 'yes', ' true', 'true\n', 'false\0', 'null', '[true]'), text(1, 10_000)).filter((value) => !['true', 'false'].includes(value)),
      };
    default:
      if (Array.isArray(schema['enum'])) return wordsOf(schema['enum'] as string[]);
      // An instant, or a cursor, which can't be made up.
      return { valid: someInstant, broken: fc.oneof(fc.constant(''), noInstant) };
  }
} // prettier-ignore

function wordsOf(words: string[]) {
  const odd = fc.constantFrom('', ...words.flatMap((word) => [word.toUpperCase(), ` ${word}`, `${word}\0`, `${word},${word}`]));
  return { valid: fc.constantFrom(...words), broken: fc.oneof(odd, text(1, 10_000)).filter((value) => !words.includes(value)) };
}

/** Percent-encodes all characters, the ones that must be encoded, or the ones that usually are. */
function encoded(value: string, style: number): string {
  if (style % 3 === 0) return encodeURIComponent(value.toWellFormed());
  const bytes = [...Buffer.from(value)];
  const mustBe = (byte: number) => byte <= 0x20 || byte >= 0x7f || '%&+#=?/\\'.includes(String.fromCharCode(byte));
  return bytes
    .map((byte) => (style % 3 === 1 || mustBe(byte) ? `%${byte.toString(16).padStart(2, '0')}` : String.fromCharCode(byte)))
    .join('');
}

export function queries(template: string, parameters: Parameter[]): fc.Arbitrary<Part<string>> {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const makeable = known.filter(({ name }) => name !== 'cursor');
  const fine = (template === '/calls' ? ranges(makeable) : optional(makeable)).map((pairs) =>
    known.some(({ name }) => name === 'expand') ? fitting(pairs) : pairs,
  );
  const render = (pairs: Pairs, style: number) =>
    pairs.map(([name, value]) => `${encoded(name, style)}=${encoded(value, style)}`).join('&');
  const spoil = fc.oneof(
    ...known.map(({ name, schema }) =>
      fc.tuple(asText(schema).broken, fc.nat()).map(
        ([value, at]): Change =>
          (pairs) =>
            insert(without(pairs, name), [name, value], at),
      ),
    ),
    ...known.filter(({ required }) => required).map(({ name }) => fc.constant<Change>((pairs) => without(pairs, name))),
    ...known.map(({ name, schema }) =>
      fc.tuple(asText(schema).valid, asText(schema).valid, fc.nat()).map(
        ([one, two, at]): Change =>
          (pairs) =>
            insert(insert(without(pairs, name), [name, one], at), [name, two], at + 1),
      ),
    ),
    fc
      .tuple(text(0, 10_000), text(0, 20), fc.nat())
      .filter(([name]) => !known.some((each) => each.name === name))
      .map(
        ([name, value, at]): Change =>
          (pairs) =>
            insert(pairs, [name, value], at),
      ),
    fc
      .constantFrom('__proto__', 'constructor', 'toString', 'start_date[]', 'PAGE', 'page ', 'access_token')
      .map((name): Change => (pairs) => [...pairs, [name, '1']]),
    ...(template === '/calls'
      ? [fc.constant<Change>((pairs) => pairs.map(([name, value]) => [OTHER_BOUND[name] ?? name, value]))]
      : []),
  );
  const raw = fc.constantFrom(...'% %zz %FF %00 & && = =1 page a=1 ? # %ED%A0%80=1 + ; | " \\ %c3%28'.split(' '));
  return mostly(
    4,
    fc.tuple(fine, fc.nat(2)).map(([pairs, style]) => good(render(pairs, style))),
    fc.tuple(fine, spoil, fc.nat(2)).map(([pairs, change, style]) => bad(render(change(pairs), style), '400')),
    fc.tuple(fine, raw, fc.boolean()).map(([pairs, piece, before]) => open(before ? `${piece}&${render(pairs, 0)}` : `${render(pairs, 0)}&${piece}`, '400')),
  ); // prettier-ignore
}

/** The flags for details need `expand`, and a page of details holds fewer calls. */
function fitting(pairs: Pairs): Pairs {
  const isExpanded = pairs.some(([name]) => name === 'expand');
  return pairs.filter(([name, value]) =>
    isExpanded ? !(['per_page', 'limit'].includes(name) && Number(value) > 50) : !name.startsWith('include_'),
  );
}

/** A change of a good query that breaks it. */
type Change = (pairs: Pairs) => Pairs;

const OTHER_BOUND: Record<string, string> = { start_date: 'end_date', end_date: 'start_date' };

const without = (pairs: Pairs, name: string) => pairs.filter(([other]) => other !== name);

function insert(pairs: Pairs, pair: [string, string], at: number): Pairs {
  return pairs.toSpliced(at % (pairs.length + 1), 0, pair);
}

function optional(parameters: Parameter[]): fc.Arbitrary<Pairs> {
  if (parameters.length === 0) return fc.constant([]);
  return fc
    .shuffledSubarray(parameters)
    .chain((chosen) =>
      fc.tuple(...chosen.map(({ name, schema }) => asText(schema).valid.map((value): [string, string] => [name, value]))),
    );
}

/** A valid range of dates, around the records or anywhere, with other parameters. */
function ranges(parameters: Parameter[]): fc.Arbitrary<Pairs> {
  const first = Date.UTC(1, 0) - 1_899 * 365.2425 * 86_400_000;
  const anywhere = fc.oneof(
    fc.integer({ min: Date.UTC(2024, 11, 25), max: Date.UTC(2025, 1, 10) }),
    fc.integer({ min: Math.max(first, Date.UTC(1000, 0)), max: Date.UTC(3000, 0) }),
  );
  const instants = fc.uniqueArray(anywhere, { minLength: 2, maxLength: 2 }).chain((pair) => {
    const [start, end] = pair.toSorted((a, b) => a - b) as [number, number];
    return fc.tuple(instantOf(fc.constant(start)), instantOf(fc.constant(end)));
  });
  const whole = fc.constant<[string, string]>(['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z']);
  const rest = parameters.filter(({ name }) => !['start_date', 'end_date'].includes(name));
  return fc
    .tuple(mostly(9, instants, whole), optional(rest), fc.nat(), fc.nat())
    .map(([[start, end], more, one, two]) => insert(insert(more, ['start_date', start], one), ['end_date', end], two));
}

export function paths(template: string): fc.Arbitrary<Part<string>> {
  const any = fc.oneof(text(1, 3_000), fc.constantFrom('..', '.', '\0', 'a/b', '%2e', '%', 'call_0\0', ' ', 'call_0 ', 'CALL_0', '__proto__'));
  const malformed = fc.constantFrom('%', '%zz', '%FF', 'call_0%', '%C3%28', '%ED%A0%80', '%00', '"<>^`{|}', '..', '.', '%2F', ';x=1').map((raw) => template.replace(/\{\w+\}/, () => raw));
  const put = (value: string, style: number) => template.replace(/\{\w+\}/, () => encoded(value, style));
  switch (template) {
    case '/calls/{call_id}':
      return mostly(3,
        fc.tuple(fc.constantFrom(...CALL_IDS), fc.nat(2)).map(([id, style]) => good(put(id, style))),
        fc.tuple(any.filter((id) => !CALL_IDS.includes(id)), fc.nat(2)).map(([id, style]) => bad(put(id, style), '404')),
        malformed.map((path) => bad(path, '404')));
    case '/projects/{project_id}':
      return mostly(3,
        fc.tuple(fc.constantFrom(...PROJECTS, ...PROJECTS.map((id) => id.toUpperCase())), fc.nat(2)).map(([id, style]) => good(put(id, style))),
        fc.uuid().map((id) => bad(put(id, 0), '404')),
        fc.tuple(noUuid, fc.nat(2)).map(([id, style]) => bad(put(id, style), '400')),
        malformed.map((path) => bad(path, '400')));
    default:
      return fc.constant(good(template));
  }
} // prettier-ignore
