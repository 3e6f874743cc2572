import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  callId,
  closedObject,
  email,
  freeText,
  timestamp,
  list,
  nullableText,
  orDefault,
  organizationId,
  orNull,
  parseLine,
  text,
  uuid,
} from './import-record.ts';

const UUID = '11111111-2222-4333-8444-55555555555a';
const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
/** Parses the line `{"it": value}`. */
const parse = (schema: z.ZodType, value?: unknown) => parseLine(z.strictObject({ it: schema }), bytes({ it: value }));
const accepted = (it: unknown) => ({ record: { it } });
const refused = (reason: string, field = 'it') => ({ field, reason });

describe('a whole line', () => {
  const empty = z.strictObject({});

  test.each([
    ['an object', '{}'],
    ['an object surrounded by white space', ' {} \r'],
  ])('may be %s', (_, line) => {
    expect(parseLine(empty, bytes(line))).toEqual({ record: {} });
  });

  test.each<[string, string | Buffer, string]>([
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'must be valid UTF-8'],
    ['a surrogate encoded as UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'must be valid UTF-8'],
    ['empty', '', 'must be valid JSON'],
    ['half an object', '{"it":', 'must be valid JSON'],
    ['two objects', '{} {}', 'must be valid JSON'],
    ['a byte order mark', '\ufeff{}', 'must be valid JSON'],
    ['NaN', '{"it":NaN}', 'must be valid JSON'],
    ['null', 'null', 'must be a JSON object'],
    ['a list', '[{}]', 'must be a JSON object'],
    ['text', '"{}"', 'must be a JSON object'],
    ['100,000 brackets', '['.repeat(1e5) + ']'.repeat(1e5), 'must be a JSON object'],
    ['a million brackets', '['.repeat(1e6), 'must have at most 200000 values'],
  ])('must not be %s', (_, line, reason) => {
    expect(parseLine(empty, Buffer.from(line))).toEqual({ field: '', reason });
  });
});

test('a line may have at most 200,000 commas, brackets and braces outside of strings, whatever its schema', () => {
  const line = (items: number) => bytes(`{"a":"[{,\\",[{","b":[${'0,'.repeat(items)}0]}`);
  const schema = z.strictObject({ a: freeText, b: z.array(z.number()) });
  // A brace, a comma between a and b, and a bracket.
  expect(parseLine(schema, line(199_997))).toHaveProperty('record.a', '[{,",[{');
  expect(parseLine(schema, line(199_998))).toEqual({ field: '', reason: 'must have at most 200000 values' });
  for (const broken of ['"', '{"a":"', '{"a":"\\'])
    expect(parseLine(schema, bytes(broken))).toMatchObject({ reason: 'must be valid JSON' });
});

describe('the field and reason of a refused line', () => {
  const schema = z.strictObject({
    name: freeText,
    blocks: orDefault(list(z.strictObject({ id: uuid, state: orNull(z.enum(['on', 'off'])) }), { most: 3 }), []),
    body: orNull(z.union([freeText, list(z.strictObject({ text: freeText }), { most: 3 })], 'must be text or a list')),
  });

  test.each<[string, object, string, string]>([
    ['a missing field', {}, 'name', 'is required'],
    ['a null field', { name: null }, 'name', 'must be text'],
    ['the first of several bad fields', { name: 1, blocks: 2 }, 'name', 'must be text'],
    ['a missing field of a list item', { name: '', blocks: [{ id: UUID }, {}] }, 'blocks[1].id', 'is required'],
    ['a list item of the wrong type', { name: '', blocks: [5] }, 'blocks[0]', 'must be an object'],
    ['a value that is not a list', { name: '', blocks: {} }, 'blocks', 'must be a list'],
    ['a value outside an enum', { name: '', blocks: [{ id: UUID, state: 'ON' }] }, 'blocks[0].state', 'must be one of on, off'],
    ['an unknown property', { name: '', other: 1 }, 'other', 'is not a known property'],
    [
      'an unknown property of a list item',
      { name: '', blocks: [{ id: UUID, x_1: 1 }] },
      'blocks[0].x_1',
      'is not a known property',
    ],
    ['a field inside an alternative of a union', { name: '', body: [{ text: '' }, { text: 1 }] }, 'body[1].text', 'must be text'],
    [
      'an unknown property inside an alternative of a union',
      { name: '', body: [{ text: '', n: 1 }] },
      'body[0].n',
      'is not a known property',
    ],
    ['a value that matches no alternative of a union', { name: '', body: 1 }, 'body', 'must be text or a list'],
    ['bad text that matches an alternative of a union', { name: '', body: 'a\0' }, 'body', 'must not contain the NUL character'],
  ])('are right for %s', (_, line, field, reason) => {
    expect(parseLine(schema, bytes(line))).toEqual({ field, reason });
  });

  test.each(['__proto__', 'toString'])('treat %s like any other unknown property', (name) => {
    expect(parseLine(schema, bytes(`{"name":"","${name}":{}}`))).toEqual({ field: name, reason: 'is not a known property' });
  });

  test.each(['Eva Muster', 'a\0', '\ud800', '', 'x'.repeat(65), '{"it":1}'])(
    'do not repeat the unknown property name %j',
    (name) => {
      const inside = { name: '', blocks: [{ id: UUID, [name]: 1 }] };
      expect(parseLine(schema, bytes(inside))).toEqual({ field: 'blocks[0]', reason: 'has a property that is not known' });
      expect(parseLine(schema, bytes({ name: '', [name]: 1 }))).toEqual({
        field: '',
        reason: 'has a property that is not known',
      });
    },
  );

  test('list the known properties of a closed object that has an unknown one', () => {
    const closed = closedObject({ name: freeText, size: z.number() }, (name) =>
      name === 'length' ? 'is called size here' : undefined,
    );
    const refused = (line: object) => parseLine(closed, bytes({ name: '', size: 1, ...line }));
    expect(refused({ other: 1 })).toEqual({ field: 'other', reason: 'is not a known property. Known: name, size.' });
    expect(refused({ 'Eva Muster': 1 })).toEqual({ field: '', reason: 'has a property that is not known. Known: name, size.' });
    expect(refused({ length: 1 })).toEqual({ field: 'length', reason: 'is called size here' });
    expect(refused({ size: '1' })).toEqual({ field: 'size', reason: 'must be a number' });
  });

  test('name only the first of many bad list items', () => {
    const line = bytes(`{"name":"","blocks":[0,0,0]}`);
    expect(parseLine(schema, line)).toEqual({ field: 'blocks[0]', reason: 'must be an object' });
  });

  test('name the length of a list that exceeds its own bound, before any item is read', () => {
    const short = list(email, { most: 2 });
    expect(parse(short, ['a@b', 'c@d'])).toEqual({ record: { it: ['a@b', 'c@d'] } });
    // The items are bad, too. The reason is the length, so no item was read.
    expect(parse(short, ['', '', ''])).toEqual(refused('must have at most 2 items'));
    const union = z.union([freeText, short], 'must be text or a list');
    expect(parse(union, ['', '', ''])).toEqual(refused('must have at most 2 items'));
  });

  test('list the values that select an alternative of a discriminated union', () => {
    const lines = z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('user') }),
      z.strictObject({ type: z.literal('call') }),
    ]);
    expect(parseLine(lines, bytes({ type: 'call' }))).toEqual({ record: { type: 'call' } });
    expect(parseLine(lines, bytes({ type: 'canary' }))).toEqual({ field: 'type', reason: 'must be one of user, call' });
    expect(parseLine(lines, bytes({}))).toEqual({ field: 'type', reason: 'is required' });
  });
});

test('no reason contains a value of the line', () => {
  const schemas = [
    freeText, text(1, 2), email, organizationId, callId, uuid, timestamp, z.number().min(0), z.int(), z.boolean(), z.literal('call'),
    z.enum(['on', 'off']), z.strictObject({}), list(freeText, { most: 2 }), z.union([z.number(), z.boolean()]),
    z.discriminatedUnion('type', [z.strictObject({ type: z.literal('call') })]),
  ]; // prettier-ignore
  const values = ['canary\0', 'canary\ud800', ['canary\0'], { canary: 'canary' }, { type: 'canary' }, -4242, 42.42, 1e300];
  const outcomes = schemas.flatMap((schema) => values.map((value) => parse(schema, value)));
  const reasons = outcomes.flatMap((outcome) => ('reason' in outcome ? outcome.reason : []));
  expect(reasons.length).toBeGreaterThan(100);
  expect(reasons.filter((reason) => /canary|42|300/.test(reason))).toEqual([]);
});

describe('field schemas', () => {
  test.each(['', ' \n', 'Zoe\u0308', '😀', '__proto__'])('keep free text as it is: %j', (value) => {
    expect(parse(freeText, value)).toEqual(accepted(value));
  });

  test.each([
    ['{"it":"a\\u0000b"}', 'must not contain the NUL character'],
    ['{"it":"\\ud800"}', 'must not contain a lone surrogate'],
    ['{"it":"\\udc00\\ud800"}', 'must not contain a lone surrogate'],
    ['{"it":"\\ud83d\\ude00"}', undefined],
  ])('check text after decoding its escapes: %s', (line, reason) => {
    const outcome = parseLine(z.strictObject({ it: freeText }), bytes(line));
    expect(outcome).toEqual(reason === undefined ? accepted('😀') : refused(reason));
  });

  test.each<[string, z.ZodType, unknown, unknown]>([
    ['the shortest text', text(1, 3), 'a', 'a'],
    ['the longest text, counted in code points', text(1, 3), '😀😀😀', '😀😀😀'],
    ['absent text', nullableText, undefined, null],
    ['null text', nullableText, null, null],
    ['empty text', nullableText, '', ''],
    ['absent flag', orDefault(z.boolean(), false), undefined, false],
    ['null flag', orDefault(z.boolean(), false), null, false],
    ['true flag', orDefault(z.boolean(), false), true, true],
    ['zero', orNull(z.number().min(0)), 0, 0],
    ['e-mail address', email, 'Ann@acme.example', 'Ann@acme.example'],
    ['organization id', organizationId, 'acme-2', 'acme-2'],
    ['call id', callId, 'call_1.a:B-2', 'call_1.a:B-2'],
    ['UUID in any case', uuid, UUID.toUpperCase(), UUID],
    [
      'timestamp, truncated to the millisecond',
      timestamp,
      '2025-01-01t01:00:00.0019+01:00',
      new Date('2025-01-01T00:00:00.001Z'),
    ],
  ])('accept: %s', (_, schema, value, result) => {
    expect(parse(schema, value)).toEqual(accepted(result));
  });

  test.each<[string, z.ZodType, unknown]>([
    ['must have 1 to 3 characters', text(1, 3), ''],
    ['must have 1 to 3 characters', text(1, 3), '😀😀😀😀'],
    ['must not contain the NUL character', text(1, 3), '\0'],
    ['must be text', nullableText, 5],
    ['must be true or false', z.boolean(), 'true'],
    ['must be a whole number', z.int(), 1.5],
    ['must be at most 5', z.number().max(5), 6],
    ['must be call', z.literal('call'), 'user'],
    ['must be an e-mail address of 3 to 254 characters', email, 'ann'],
    ['must be an e-mail address of 3 to 254 characters', email, `${'a'.repeat(250)}@b.example`],
    ['must not contain the NUL character', email, 'a\0@b'],
    ['must not contain a lone surrogate', email, '\ud800@b'],
    ['must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"', organizationId, '-acme'],
    ['must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"', organizationId, 'a'.repeat(41)],
    ['must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"', callId, 'call 1'],
    ['must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"', callId, 'call\n'],
    ['must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"', callId, ''],
    ['must be a UUID', uuid, UUID.slice(1)],
    ['must be an RFC 3339 date-time with Z or an offset', timestamp, '2025-02-29T00:00:00Z'],
    ['must be an RFC 3339 date-time with Z or an offset', timestamp, '2025-02-28T00:00:00'],
    ['must be text', timestamp, 1735689600],
  ])('refuse case %#: %s', (reason, schema, value) => {
    expect(parse(schema, value)).toEqual(refused(reason));
  });

  test('refuse a number beyond the range of a double', () => {
    expect(parseLine(z.strictObject({ it: z.number().min(0) }), bytes('{"it":1e999}'))).toEqual(refused('must be a number'));
  });
});
