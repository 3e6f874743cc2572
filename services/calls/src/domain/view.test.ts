import { ALLOWED_FIELDS, type AllowedField } from '@crs/records/allowed-fields';
import { expect, test } from 'vitest';
import { fieldMaskOf, showsTranscripts } from './view.ts';

/** These fields show nothing unless the field that they extend is enabled, too. */
const DEPENDENT: AllowedField[] = ['participants.email', 'transcripts.clean'];

test.each(ALLOWED_FIELDS)('%s alone enables itself, unless it depends on another field', (field) => {
  expect([...fieldMaskOf([field])]).toEqual(DEPENDENT.includes(field) ? [] : [field]);
});

test.each([
  ['participants.email', 'participants'],
  ['transcripts.clean', 'qa_blocks'],
])('%s needs %s too', (field, needed) => {
  expect([...fieldMaskOf([field, needed])].toSorted()).toEqual([field, needed].toSorted());
});

test('all allowed fields enable every field, and an empty list enables none', () => {
  expect(fieldMaskOf(ALLOWED_FIELDS)).toEqual(new Set(ALLOWED_FIELDS));
  expect(fieldMaskOf([])).toEqual(new Set());
});

test('unknown paths enable no known field', () => {
  const mask = fieldMaskOf(['transcripts', 'interviewee', 'SUMMARY', 'toString']);
  expect(ALLOWED_FIELDS.filter((field) => mask.has(field))).toEqual([]);
});

test.each(ALLOWED_FIELDS)('%s alone reveals that a call has a transcript only if it shows a recorded transcript', (field) => {
  expect(showsTranscripts(fieldMaskOf([field]))).toBe(field === 'transcripts.verbatim' || field === 'transcripts.redacted');
});
