import { ALLOWED_FIELDS, type AllowedField } from '@crs/records/allowed-fields';
import { expect, test } from 'vitest';
import { fieldMaskOf, showsTranscripts } from './view.ts';

const NEEDY: AllowedField[] = ['participants.email', 'transcripts.clean'];

test.each(ALLOWED_FIELDS)('%s alone opens itself, unless it repeats another field', (field) => {
  expect([...fieldMaskOf([field])]).toEqual(NEEDY.includes(field) ? [] : [field]);
});

test.each([
  ['participants.email', 'participants'],
  ['transcripts.clean', 'qa_blocks'],
])('%s needs %s too', (field, needed) => {
  expect([...fieldMaskOf([field, needed])].toSorted()).toEqual([field, needed].toSorted());
});

test('all fields open all, and none opens none', () => {
  expect(fieldMaskOf(ALLOWED_FIELDS)).toEqual(new Set(ALLOWED_FIELDS));
  expect(fieldMaskOf([])).toEqual(new Set());
});

test('unknown paths open no known field', () => {
  const mask = fieldMaskOf(['transcripts', 'interviewee', 'SUMMARY', 'toString']);
  expect(ALLOWED_FIELDS.filter((field) => mask.has(field))).toEqual([]);
});

test.each(ALLOWED_FIELDS)('%s alone may tell that there is a transcript where it shows one that is recorded', (field) => {
  expect(showsTranscripts(fieldMaskOf([field]))).toBe(field === 'transcripts.verbatim' || field === 'transcripts.redacted');
});
