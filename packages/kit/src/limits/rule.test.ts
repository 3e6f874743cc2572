import { describe, expect, it } from 'vitest';
import { formatRule, parseRule } from './rule.ts';

describe('a rate limit written as requests/seconds', () => {
  it.each(['600/60', '1/1', '1000000000/31622400'])('parses and formats %s without change', (text) => {
    expect(formatRule(parseRule(text)!)).toBe(text);
  });

  it.each([
    '',
    '600',
    '600/',
    '/60',
    '0/60',
    '600/0',
    '-1/60',
    '1.5/60',
    '06/60',
    ' 6/60',
    '6/60 ',
    '6/31622401',
    '1000000001/60',
    '6/60/1',
  ])('refuses %j', (text) => {
    expect(parseRule(text)).toBeUndefined();
  });
});
