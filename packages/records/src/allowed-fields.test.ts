import { expect, test } from 'vitest';
import { ALLOWED_FIELDS, DEFAULT_ALLOWED_FIELDS, isAllowedField } from './allowed-fields.ts';

test('there are 17 paths, each once', () => {
  expect(new Set(ALLOWED_FIELDS).size).toBe(17);
});

test('all but e-mails and cost are on by default', () => {
  const off = ALLOWED_FIELDS.filter((field) => !DEFAULT_ALLOWED_FIELDS.includes(field));
  expect(off).toEqual(['participants.email', 'cost']);
});

test.each(ALLOWED_FIELDS)('%s is a path', (field) => {
  expect(isAllowedField(field)).toBe(true);
});

test.each(['', 'interviewee', 'Summary', 'summary ', 'transcripts', 'participants.name', 'toString'])(
  '%j is not a path',
  (text) => {
    expect(isAllowedField(text)).toBe(false);
  },
);
