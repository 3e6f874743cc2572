import { expect, test } from 'vitest';
import { ALLOWED_FIELDS, DEFAULT_ALLOWED_FIELDS, isAllowedField } from './allowed-fields.ts';

test('ALLOWED_FIELDS has 17 distinct paths', () => {
  expect(new Set(ALLOWED_FIELDS).size).toBe(17);
});

test('the default allows every field except e-mail addresses and cost', () => {
  const off = ALLOWED_FIELDS.filter((field) => !DEFAULT_ALLOWED_FIELDS.includes(field));
  expect(off).toEqual(['participants.email', 'cost']);
});

test.each(ALLOWED_FIELDS)('isAllowedField accepts %s', (field) => {
  expect(isAllowedField(field)).toBe(true);
});

test.each(['', 'interviewee', 'Summary', 'summary ', 'transcripts', 'participants.name', 'toString'])(
  'isAllowedField rejects %j',
  (text) => {
    expect(isAllowedField(text)).toBe(false);
  },
);
