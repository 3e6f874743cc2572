import { describe, expect, it } from 'vitest';
import { parseFilter } from './filter.ts';

const KNOWN = ['userName', 'externalId', 'id', 'members.value'];
const parse = (text: string) => parseFilter(text, KNOWN);

describe('a filter', () => {
  it.each([
    ['userName eq "ann@x.example"', [['userName', 'ann@x.example']]],
    ['  USERNAME  EQ  "a b"  ', [['userName', 'a b']]],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a"', [['userName', 'a']]],
    ['externalId eq "\\"q\\" \\\\ \\u00e4"', [['externalId', '"q" \\ ä']]],
    ['externalId eq 42 and id eq true', [['externalId', '42'], ['id', 'true']]], // prettier-ignore
    ['id eq "1" AND members.value eq "2" and id eq "3"', [['id', '1'], ['members.value', '2'], ['id', '3']]], // prettier-ignore
    ['userName eq " and id eq "', [['userName', ' and id eq ']]],
  ])('is read from %s', (text, comparisons) => {
    expect(parse(text).map(({ attribute, value }) => [attribute, value])).toEqual(comparisons);
  });

  it.each([
    '',
    'userName',
    'userName eq',
    'userName eq ann',
    'userName eq "ann',
    'userName eq "ann" or id eq "1"',
    'userName eq "ann" and',
    'userName eq "ann" and "ann"',
    'userName eq "ann"and id eq "1"',
    'userName eq "ann" andid eq "1"',
    'not (userName eq "ann")',
    '(userName eq "ann")',
    'userName co "ann"',
    'userName pr',
    'title eq "x"',
    'userName eq "a\nb"',
    'userName eq "\\x"',
    '__proto__ eq "x"',
  ])('is refused if it is %j', (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ status: 400, scimType: 'invalidFilter' }));
  });

  it('takes time in proportion to its length', () => {
    const hostile = [
      (n: number) => `userName eq "${'\\'.repeat(n)}`,
      (n: number) => `userName${' '.repeat(n)}`,
      (n: number) => `userName eq ${'1'.repeat(n)}x`,
      (n: number) => 'id eq "1" and '.repeat(n),
      (n: number) => 'a.'.repeat(n),
      (n: number) => '('.repeat(n),
    ];
    for (const text of hostile) {
      const started = performance.now();
      expect(() => parse(text(100_000))).toThrow();
      // Quadratic time would be minutes.
      expect(performance.now() - started).toBeLessThan(5_000);
    }
  });
});
