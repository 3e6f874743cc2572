/** Bodies of `POST /projects`, with the headers that go with them. */
import fc from 'fast-check';
import { EMAILS, OFFICES } from './records.ts';
import { bad, good, headersOf, mostly, type Part } from './request.ts';
import { anyJson, broken, text, unstorable } from './values.ts';

export interface NewProject {
  body: string | Buffer;
  headers: [name: string, value: string][];
  /** The parts of the request up to the body's fields, in the order of their checks. */
  parts: Part<unknown>[];
  /** The part `Idempotency-Key`, which is checked after the query. */
  key: Part<unknown>;
  /** The outcomes where no part is refused. */
  statuses: string[];
}

type Fields = Record<string, unknown>;

const spelled = (email: string) => fc.constantFrom(email, email.toUpperCase(), ` ${email}\n`);
const someone = fc.constantFrom(EMAILS.ann, EMAILS.bob).chain(spelled);
const nobody = fc.constantFrom(
  'nobody@crs.example',
  'a@b',
  'ann@crs.exampl\u00e9',
  `${'a'.repeat(242)}@crs.example`,
  'mark@x',
  'a@\u{10ffff}',
);
const name = text(1, 200).filter((value) => value.trim() !== '');

const fields: fc.Arbitrary<Fields> = fc.record(
  {
    name: mostly(
      9,
      name,
      name.filter((value) => Array.from(value).length < 200).map((value) => ` ${value}\u3000`),
    ),
    lead_email: someone,
    member_emails: fc.oneof(fc.constant(null), fc.array(someone, { maxLength: 100 })),
    billing_office_name: fc.oneof(fc.constant(null), fc.constantFrom(...OFFICES)),
    summary: fc.oneof(fc.constant(null), text(0, 2_000)),
  },
  { requiredKeys: ['name', 'lead_email'] },
);

const email = { type: 'string', minLength: 3, maxLength: 254 };
const noEmail = fc.oneof(
  fc.constantFrom('', '@', 'a', 'a@', '@b', 'a b@c', 'a@b@c', `${'a'.repeat(250)}@b.de`),
  broken(email),
  unstorable.map((value) => `a@${value}`),
);
const BROKEN: Record<string, fc.Arbitrary<unknown>> = {
  name: fc.oneof(fc.constantFrom<unknown>(undefined, null, '', ' \n\u3000', 'a'.repeat(201), '\u{1f469}'.repeat(201)), broken({ type: 'string', minLength: 1, maxLength: 200 })),
  lead_email: fc.oneof(fc.constantFrom<unknown>(undefined, null), noEmail),
  member_emails: fc.oneof(
    noEmail.map((one) => [one]),
    fc.tuple(someone, noEmail).map((two) => two),
    fc.constant(Array<string>(101).fill(EMAILS.ann)),
    broken({ type: ['array', 'null'], items: email }).filter((value) => value !== null),
  ),
  billing_office_name: broken({ type: ['string', 'null'] }),
  summary: fc.oneof(fc.constantFrom<unknown>('a'.repeat(2_001)), broken({ type: ['string', 'null'], maxLength: 2_000 })),
}; // prettier-ignore

/** Well-formed values that name no user and no office. They are refused after the check of the key. */
const unknownFields: fc.Arbitrary<Fields> = fc
  .tuple(
    fields,
    fc.oneof(
      nobody.map((one): Fields => ({ lead_email: one })),
      nobody.map((one): Fields => ({ member_emails: [EMAILS.bob, one] })),
      fc
        .constantFrom('london', 'London ', '', 'x'.repeat(40_000), 'mark')
        .map((office): Fields => ({ billing_office_name: office })),
    ),
  )
  .map(([all, wrong]) => ({ ...all, ...wrong }));

/** Bodies with one invalid or one unknown field. */
const wrongFields: fc.Arbitrary<Fields> = fc.tuple(
  fields,
  fc.oneof(
    ...Object.entries(BROKEN).map(([key, values]) => values.map((value): Fields => ({ [key]: value }))),
    fc.tuple(text(0, 3_000).filter((key) => !Object.hasOwn(BROKEN, key)), anyJson).map(([key, value]): Fields => Object.fromEntries([[key, value]])),
    fc.constantFrom('__proto__', 'constructor', 'project_id', 'organization', 'Name').map((key): Fields => Object.fromEntries([[key, {}]])),
  ),
).map(([all, wrong]) => Object.fromEntries([...Object.entries(all), ...Object.entries(wrong)])); // prettier-ignore

const MAX_BODY_BYTES = 64 * 1024;
const nested = fc
  .tuple(fc.constantFrom('[', '{"a":'), fc.constantFrom(100, 10_000, 100_000))
  .map(([piece, depth]) => piece.repeat(depth));
const noJson: fc.Arbitrary<string | Buffer> = fc.oneof(
  fc.constantFrom('', ' ', 'null', '[]', '"x"', '1', 'true', '{', '{}', '{"name":}', "{'name':'x'}", '\ufeff{}', 'name=x&lead_email=ann@crs.example', '{"name":"x",}', '[{}]', '\0', '{"name":"\ud800"'),
  fields.chain((all) => fc.nat(JSON.stringify(all).length - 2).map((length) => JSON.stringify(all).slice(0, length))),
  fields.map((all) => Buffer.concat([Buffer.from(JSON.stringify(all).slice(0, -2)), Buffer.from([0xff, 0x22, 0x7d])])),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)).filter((bytes) => !isObject(bytes.toString())),
  nested,
  fc.constantFrom('1e400', '-0', '1'.repeat(10_000), '0.'.padEnd(5_000, '1')).map((number) => `{"name":${number},"lead_email":"${EMAILS.ann}"}`),
); // prettier-ignore

function isObject(json: string): boolean {
  try {
    return typeof JSON.parse(json) === 'object';
  } catch {
    return false;
  }
}

type Body = Part<string | Buffer> & { isUnknown?: boolean };
const anySize: fc.Arbitrary<Body> = fc.oneof<fc.WeightedArbitrary<Body>[]>(
  { arbitrary: fields.map((all) => good(JSON.stringify(all))), weight: 50 },
  { arbitrary: fields.map((all) => good(JSON.stringify(all, null, '\t\r\n '))), weight: 5 },
  // The last field of a name counts.
  { arbitrary: fields.map((all) => good(`{"name":7,${JSON.stringify(all).slice(1)}`)), weight: 3 },
  { arbitrary: wrongFields.map((all) => bad(JSON.stringify(all), '400')), weight: 50 },
  { arbitrary: unknownFields.map((all) => ({ value: JSON.stringify(all), isUnknown: true })), weight: 15 },
  { arbitrary: noJson.map((raw) => bad(raw, '400')), weight: 15 },
  { arbitrary: fields.map((all) => padded(all, MAX_BODY_BYTES)), weight: 2 },
  { arbitrary: fields.map((all) => padded(all, MAX_BODY_BYTES + 1)), weight: 2 },
);

function padded(all: Fields, bytes: number): Part<string> {
  const body = JSON.stringify(all);
  return good(body + ' '.repeat(Math.max(0, bytes - Buffer.byteLength(body))));
}

/** A body that is too large is refused for that, whatever else is wrong with it. */
const bodies: fc.Arbitrary<Body> = anySize.map((body) =>
  Buffer.byteLength(body.value) > MAX_BODY_BYTES ? bad(body.value, '413') : body,
);

const types = mostly<Part<string | undefined>>(
  12,
  fc.constantFrom('application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json ; x=y').map(good),
  fc.constantFrom(undefined, '', 'text/plain', 'application/json2', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', 'multipart/form-data; boundary=x', '\xff', 'text/plain, application/json').map((type) => bad(type, '415')),
); // prettier-ignore

const encodings = mostly<Part<string | undefined>>(
  30,
  fc.constantFrom(undefined, 'identity').map(good),
  fc.constantFrom('gzip', 'br', 'nonsense').map((encoding) => bad(encoding, '415')),
);

/** A few keys that are used again and again, and many that are used once. */
const KEYS = Array.from({ length: 10 }, (_, n) => `again-${n}`);
const printable = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
  maxLength: 255,
});
interface Key {
  part: Part<string[]>;
  statuses: string[];
}
const keys = mostly<Key>(
  4,
  fc.constant<Key>({ part: good([]), statuses: ['201'] }),
  fc.uuid().map((key) => ({ part: good([key]), statuses: ['201'] })),
  fc.constantFrom(...KEYS).map((key) => ({ part: good([key]), statuses: ['201', '409', '422'] })),
  printable.map((key) => ({ part: good([key]), statuses: ['201', '409', '422'] })),
  fc.constantFrom<string[]>([''], ['a'.repeat(256)], ['a', 'b'], ['a', 'a'], ['\xe9'], ['a\tb'], ['\x80']).map((given) => ({ part: bad(given, '400'), statuses: [] })),
); // prettier-ignore

export const newProjects: fc.Arbitrary<NewProject> = fc
  .record({ body: bodies, type: types, encoding: encodings, key: keys })
  .map(({ body, type, encoding, key }) => ({
    body: body.value,
    headers: headersOf([
      ['Content-Type', type.value],
      ['Content-Encoding', encoding.value],
      ...key.part.value.map((value): [string, string] => ['Idempotency-Key', value]),
    ]),
    parts: [type, encoding, body],
    key: key.part,
    statuses: body.isUnknown ? ['400', ...key.statuses.filter((status) => status !== '201')] : key.statuses,
  }));
