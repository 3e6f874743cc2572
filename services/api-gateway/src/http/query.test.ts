import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { flag, timestamp, parseQuery, wholeNumber } from './query.ts';

const schema = z.object({
  from: timestamp.optional(),
  page: wholeNumber(1, 2_147_483_647).default(1),
  whole: flag.default(true),
});
const parse = (query: string) => parseQuery(`/path${query}`, schema);
const MOMENT = '2025-03-01T12:30:45';

function problemOf(query: string): { field: string | undefined; message: string } {
  try {
    parse(query);
  } catch (error) {
    return error as { field: string | undefined; message: string };
  }
  throw new Error(`${query} was accepted`);
}

describe('a query string', () => {
  it.each(['', '?', '?&', '?&&'])('%j has no parameters', (query) => {
    expect(parse(query)).toEqual({ page: 1, whole: true });
  });

  it('is decoded, names included', () => {
    expect(parse('?p%61ge=%32')).toMatchObject({ page: 2 });
  });

  it.each([
    ['?page=1&page=1', 'page: must be given once'],
    ['?page=1&p%61ge=2', 'page: must be given once'],
    ['?page', 'page: must not be empty'],
    ['?page=', 'page: must not be empty'],
    ['?page=%00', 'page: must not contain the NUL character'],
    ['?Page=1', "Page: isn't a parameter here. Allowed: from, page, whole"],
    ['?other=1&page=1', "other: isn't a parameter"],
    ['?other', "other: isn't a parameter"],
    ['?__proto__=1', "__proto__: isn't a parameter"],
    ['?toString=1', "toString: isn't a parameter"],
    ['?page[]=1', "page[]: isn't a parameter"],
    ['?page%20=1', "page : isn't a parameter"],
    ['?=1', "a parameter without a name: isn't a parameter"],
    ['?page=1?whole=true', 'page: must be a whole number'],
    ['?page=1;whole=true', 'page: must be a whole number'],
    ['?page=%', 'page: must be a whole number'],
    ['?page=%zz', 'page: must be a whole number'],
    ['?page=%ED%A0%80', 'page: must be a whole number'],
    ['?page=%FF', 'page: must be a whole number'],
  ])('%s is refused: %s', (query, message) => {
    expect(problemOf(query).message).toContain(message);
  });

  it('is refused with an error whose field is the name of the parameter', () => {
    expect(problemOf('?whole=1')).toMatchObject({ kind: 'invalid_argument', field: 'whole' });
  });

  it('with a long unknown name is refused with an error that quotes only its beginning, without splitting a character', () => {
    const { message } = problemOf(`?${'a'.repeat(99)}${encodeURIComponent('😀'.repeat(50))}=1`);
    expect(message.length).toBeLessThan(200);
    expect(message.isWellFormed()).toBe(true);
  });
});

describe('a whole number', () => {
  it.each(['1', '10', '2147483647'])('%s is accepted', (text) => {
    expect(parse(`?page=${text}`).page).toBe(Number(text));
  });

  it.each([
    '0',
    '-0',
    '-1',
    '%2B1',
    '+1',
    '01',
    '00',
    '1.0',
    '1.',
    '1e2',
    '1e0',
    '0x1',
    '1_0',
    '1,0',
    '%201',
    '1%20',
    '1%0A',
    '2147483648',
    '9'.repeat(40),
    'NaN',
    'Infinity',
    'one',
    'true',
    '%D9%A1',
    '%EF%BC%91',
    '%E0%A5%A7',
  ])('%s is refused, never clamped', (text) => {
    expect(problemOf(`?page=${text}`).message).toBe('page: must be a whole number from 1 to 2147483647, in digits');
  });
});

describe('a flag', () => {
  it('is parsed from true and false', () => {
    expect([parse('?whole=true').whole, parse('?whole=false').whole]).toEqual([true, false]);
  });

  it.each(['TRUE', 'False', '1', '0', 'yes', 'on', 'null', '%20true'])('%s is refused', (text) => {
    expect(problemOf(`?whole=${text}`).message).toBe('whole: must be true or false');
  });
});

describe('a timestamp', () => {
  it.each([
    [`${MOMENT}Z`, '2025-03-01T12:30:45.000Z'],
    ['2025-03-01t12:30:45z', '2025-03-01T12:30:45.000Z'],
    [`${MOMENT}%2B01:00`, '2025-03-01T11:30:45.000Z'],
    [`${MOMENT}-23:59`, '2025-03-02T12:29:45.000Z'],
    [`${MOMENT}%2B23:59`, '2025-02-28T12:31:45.000Z'],
    [`${MOMENT}-00:00`, '2025-03-01T12:30:45.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0001-01-01T01:00:00%2B01:00', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59-00:00', '9999-12-31T23:59:59.000Z'],
  ])('%s is parsed as %s', (text, timestamp) => {
    expect(parse(`?from=${text}`).from?.toISOString()).toBe(timestamp);
  });

  it.each([
    ['2025-02-29T00:00:00Z', 'a day that does not exist'],
    ['1900-02-29T00:00:00Z', 'a day that does not exist'],
    ['2025-04-31T00:00:00Z', 'a day that does not exist'],
    ['2025-00-01T00:00:00Z', 'month 0'],
    ['2025-13-01T00:00:00Z', 'month 13'],
    ['2025-01-00T00:00:00Z', 'day 0'],
    ['2025-03-01T24:00:00Z', 'hour 24'],
    ['2025-03-01T12:60:00Z', 'minute 60'],
    ['2016-12-31T23:59:60Z', 'a leap second'],
    [`${MOMENT}%2B24:00`, 'offset hour 24'],
    [`${MOMENT}%2B01:60`, 'offset minute 60'],
    [`${MOMENT}%2B0100`, 'offset without colon'],
    [`${MOMENT}%2B01`, 'offset without minutes'],
    [MOMENT, 'no offset'],
    ['2025-03-01', 'no time'],
    ['2025-03-01T12:30Z', 'no seconds'],
    [`${MOMENT}.Z`, 'no digits after the point'],
    [`${MOMENT},5Z`, 'a comma'],
    [`${MOMENT}ZZ`, 'trailing text'],
    [`${MOMENT}Z%0A`, 'a trailing line break'],
    [`%20${MOMENT}Z`, 'a leading space'],
    ['2025-03-01%2012:30:45Z', 'a space instead of T'],
    ['25-03-01T12:30:45Z', 'a year of two digits'],
    ['%2B002025-03-01T12:30:45Z', 'a year of six digits'],
    ['12025-03-01T12:30:45Z', 'a year of five digits'],
    ['-0001-01-01T00:00:00Z', 'a negative year'],
    ['0000-12-31T23:59:59Z', 'year 0'],
    ['0001-01-01T00:00:00%2B00:01', 'year 0 after its offset is applied'],
    ['9999-12-31T23:59:59-00:01', 'year 10000 after its offset is applied'],
    ['%EF%BC%92025-03-01T12:30:45Z', 'a digit of another script'],
    ['1740832245', 'epoch seconds'],
    ['now', 'a word'],
  ])('%s is refused: %s', (text) => {
    expect(problemOf(`?from=${text}`).message).toBe(
      'from: must be an RFC 3339 date-time with "Z" or an offset, such as 2026-01-31T00:00:00Z, in the years 0001 to 9999',
    );
  });

  it.each([`${MOMENT}+01:00`, `${MOMENT}.5+01:00`, '2025-03-01t12:30:45+00:00', `${MOMENT}%2001:00`])(
    '%s is refused with an explanation of the raw "+"',
    (text) => {
      expect(problemOf(`?from=${text}`).message).toContain(
        'a "+" in a URL means a space, so write the offset as %2B01:00 or use Z',
      );
    },
  );

  it.each(Array.from({ length: 20 }, (_, digits) => digits + 1))(
    'with %i fraction digits is truncated to the millisecond',
    (digits) => {
      const fraction = (text: string) => parse(`?from=${MOMENT}.${text.slice(0, digits)}Z`).from?.getUTCMilliseconds();
      expect(fraction('12300000000000000000')).toBe([100, 120][digits - 1] ?? 123);
      expect(fraction('12345678901234567890')).toBe([100, 120, 123][digits - 1] ?? 123);
      expect(parse(`?from=${MOMENT}.${'0'.repeat(digits - 1)}1Z`).from?.getUTCMilliseconds()).toBe([100, 10, 1][digits - 1] ?? 0);
    },
  );

  it('is never rounded up into the next second, day or year', () => {
    expect(parse('?from=2024-12-31T23:59:59.9999999Z').from?.toISOString()).toBe('2024-12-31T23:59:59.999Z');
    expect(parse('?from=9999-12-31T23:59:59.9999Z').from?.toISOString()).toBe('9999-12-31T23:59:59.999Z');
  });

  it.each(['T', 't0', 'T 00:00', '2', ' '])('that is a long repetition of %j is refused in linear time', (piece) => {
    const query = `?from=${encodeURIComponent(piece.repeat(15_500 / piece.length))}`;
    const times = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage();
      problemOf(query);
      return process.cpuUsage(before).user / 1000;
    });
    // Milliseconds. A quadratic check takes about 200.
    expect(Math.min(...times)).toBeLessThan(20);
  });

  it('that is missing is named in the error', () => {
    const required = z.object({ start: timestamp });
    expect(() => parseQuery('/', required)).toThrow('start: is required: an RFC 3339 date-time such as 2026-01-31T00:00:00Z');
  });
});
