import { ALLOWED_FIELDS, type AllowedField } from '@crs/kit/product/allowed-fields';
import { expect, test } from 'vitest';
import { gateOf, type Gate } from './fields.ts';

function opened(...fields: string[]): string[] {
  return Object.entries(gateOf(fields)).flatMap(([key, open]) => (open ? [key] : []));
}

test.each<[AllowedField, ...(keyof Gate)[]]>([
  ['interviewee.name', 'name'],
  ['interviewee.job_title', 'jobTitle'],
  ['interviewee.organization', 'employer'],
  ['interviewee.country', 'country'],
  ['interviewee.bio', 'bio'],
  ['participants', 'participants'],
  ['participants.email'],
  ['summary', 'summary'],
  ['key_takeaways', 'keyTakeaways'],
  ['qa_blocks', 'qaBlocks'],
  ['rating', 'rating'],
  ['cost', 'cost'],
  ['segment', 'segment'],
  ['source', 'source'],
  ['transcripts.verbatim', 'verbatim', 'hasTranscript'],
  ['transcripts.redacted', 'redacted', 'hasTranscript'],
  ['transcripts.clean'],
])('%s alone opens %j', (field, ...keys) => {
  expect(opened(field)).toEqual(keys);
});

test('what repeats a field needs that field too', () => {
  expect(opened('participants', 'participants.email')).toEqual(['participants', 'participantEmails']);
  expect(opened('qa_blocks', 'transcripts.clean')).toEqual(['qaBlocks', 'clean']);
});

test('all fields open all, none opens none, unknown ones open nothing', () => {
  expect(Object.values(gateOf(ALLOWED_FIELDS))).not.toContain(false);
  expect(opened()).toEqual([]);
  expect(opened('transcripts', 'interviewee', 'SUMMARY', 'toString')).toEqual([]);
});
