import { MAX_ITEMS, parseLine } from '@crs/records/import-record';
import { describe, expect, test } from 'vitest';
import { callLine } from './call-record.ts';

const UUID = '11111111-2222-4333-8444-55555555555a';
const REQUIRED = { type: 'call', organization: 'acme', id: 'call_1' };
const parse = (line: object) => parseLine(callLine, Buffer.from(JSON.stringify(line)));
const EMPTY = {
  deleted: false,
  organization: 'acme',
  callId: 'call_1',
  projectId: null,
  callType: 'interview',
  conductedBy: null,
  callStatus: null,
  anonymityStatus: null,
  cost: null,
  createdAt: null,
  date: null,
  durationMinutes: null,
  name: null,
  jobTitle: null,
  employer: null,
  country: null,
  bio: null,
  anonymizedName: null,
  participants: [],
  ktas: null,
  ktaApprovalStatus: null,
  notes: [],
  qaBlocks: [],
  rating: null,
  segment: null,
  source: null,
  summary: null,
  transcripts: [],
  language: null,
};

/** The record of a call line with the required fields and `fields`. */
function record(fields: object) {
  const outcome = parse({ ...REQUIRED, ...fields });
  if ('reason' in outcome) throw new Error(`${outcome.field}: ${outcome.reason}`);
  return outcome.record;
}

const OPTIONAL = [
  'project_id', 'call_type', 'conducted_by', 'call_status', 'anonymity_status', 'cost', 'created_at', 'date', 'duration_minutes', 'expert',
  'anonymized_name', 'participants', 'ktas', 'kta_approval_status', 'notes', 'qa_blocks', 'rating', 'segment', 'source', 'summary',
  'transcript', 'redacted_transcript', 'language', 'deleted',
]; // prettier-ignore

test('an absent or null field becomes null, an empty list or its default', () => {
  expect(record({})).toEqual(EMPTY);
  expect(record(Object.fromEntries(OPTIONAL.map((field) => [field, null])))).toEqual(EMPTY);
  expect(record({ expert: {}, participants: [], notes: [], qa_blocks: [], deleted: false })).toEqual(EMPTY);
});

test('a line with every field becomes a full record', () => {
  const line = {
    project_id: UUID.toUpperCase(),
    call_type: 'meeting',
    conducted_by: 'Ann@acme.example',
    call_status: 'done',
    anonymity_status: 'complete',
    cost: 120.5,
    created_at: '2025-01-01T00:00:00.1239Z',
    date: '2025-01-01T02:00:00+02:00',
    duration_minutes: 54.5,
    expert: { name: 'Eva', job_title: 'CFO', organization: 'Initech', country: 'Chile', bio: '' },
    anonymized_name: 'Expert 7',
    participants: [{ name: 'Ann', role: 'host', email: 'Ann@acme.example' }, {}],
    ktas: '- one',
    kta_approval_status: 'approved',
    notes: [
      { email: 'ann@acme.example', text: 'mine' },
      { email: 'bob@acme.example', text: '' },
    ],
    qa_blocks: [{ id: UUID.toUpperCase(), question: 'Why?', answer: 'Because.', section: 'One' }],
    rating: 4.5,
    segment: 'Customers',
    source: '',
    summary: 'A *summary*.',
    transcript: [{ speaker: 'Eva', start_seconds: 0, text: 'Hi.' }, { text: '' }],
    redacted_transcript: 'Hi.',
    language: 'en',
  };
  expect(record(line)).toEqual({
    deleted: false,
    organization: 'acme',
    callId: 'call_1',
    projectId: UUID,
    callType: 'meeting',
    conductedBy: 'Ann@acme.example',
    callStatus: 'done',
    anonymityStatus: 'complete',
    cost: 120.5,
    createdAt: new Date('2025-01-01T00:00:00.123Z'),
    date: new Date('2025-01-01T00:00:00Z'),
    durationMinutes: 54.5,
    name: 'Eva',
    jobTitle: 'CFO',
    employer: 'Initech',
    country: 'Chile',
    bio: '',
    anonymizedName: 'Expert 7',
    participants: [
      { name: 'Ann', role: 'host', email: 'Ann@acme.example' },
      { name: null, role: null, email: null },
    ],
    ktas: '- one',
    ktaApprovalStatus: 'approved',
    notes: line.notes,
    qaBlocks: [{ id: UUID, question: 'Why?', answer: 'Because.', section: 'One' }],
    rating: 4.5,
    segment: 'Customers',
    source: '',
    summary: 'A *summary*.',
    transcripts: [
      {
        kind: 'verbatim',
        content: [
          { speaker: 'Eva', start_seconds: 0, text: 'Hi.' },
          { speaker: null, start_seconds: null, text: '' },
        ],
      },
      { kind: 'redacted', content: 'Hi.' },
    ],
    language: 'en',
  });
});

test('a deletion has only its organization and call id', () => {
  expect(parse({ ...REQUIRED, deleted: true })).toEqual({ record: { deleted: true, organization: 'acme', callId: 'call_1' } });
});

test.each<[string, object]>([
  ['call_type', { call_type: 'meeting' }],
  ...['scheduled', 'reached_out', 'not_scheduled', 'done', 'rescheduled', 'not_interested', 'canceled', 'candidate'].map(
    (value): [string, object] => [`call_status ${value}`, { call_status: value }],
  ),
  ...['not_requested', 'started', 'complete', 'errored'].map((value): [string, object] => [value, { anonymity_status: value }]),
  ...['pending', 'approved'].map((value): [string, object] => [value, { kta_approval_status: value }]),
  ['lowest rating', { rating: 1 }],
  ['highest rating', { rating: 5 }],
  ['a cost and a duration of 0', { cost: 0, duration_minutes: 0 }],
  ['long texts', { segment: 'x'.repeat(100_000), language: '' }],
  [
    'notes of two users',
    {
      notes: [
        { email: 'ann@acme.example', text: '' },
        { email: 'bob@acme.example', text: '' },
      ],
    },
  ],
])('a line is accepted with %s', (_, fields) => {
  expect(record(fields)).toMatchObject({ callId: 'call_1' });
});

describe('a bad line is refused', () => {
  test.each<[string, object, string]>([
    ['type', { type: undefined }, 'is required'],
    ['type', { type: 'project' }, 'must be call'],
    ['organization', { organization: null }, 'must be text'],
    ['organization', { organization: 'ACME' }, 'must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"'],
    ['id', { id: undefined }, 'is required'],
    ['id', { id: 'a/b' }, 'must be 1 to 128 of A-Z, a-z, 0-9, ".", "_", ":" and "-"'],
    ['deleted', { deleted: 'yes' }, 'must be true or false'],
    ['summary', { deleted: true, summary: '' }, 'is not a known property'],
    ['name', { name: 'x' }, 'is not a known property'],
    ['expert.title', { expert: { title: 'x' } }, 'is not a known property'],
    ['expert', { expert: 'Eva' }, 'must be an object'],
    ['expert.name', { expert: { name: 'a\0' } }, 'must not contain the NUL character'],
    ['project_id', { project_id: 'p1' }, 'must be a UUID'],
    ['call_type', { call_type: 'Meeting' }, 'must be one of interview, meeting'],
    ['conducted_by', { conducted_by: 'ann' }, 'must be an e-mail address of 3 to 254 characters'],
    ['anonymity_status', { anonymity_status: 'done' }, 'must be one of not_requested, started, complete, errored'],
    ['kta_approval_status', { kta_approval_status: '' }, 'must be one of pending, approved'],
    ['cost', { cost: -0.01 }, 'must be at least 0'],
    ['cost', { cost: '1' }, 'must be a number'],
    ['duration_minutes', { duration_minutes: -1 }, 'must be at least 0'],
    ['rating', { rating: 0.99 }, 'must be at least 1'],
    ['rating', { rating: 5.01 }, 'must be at most 5'],
    ['created_at', { created_at: '2025-01-01' }, 'must be an RFC 3339 date-time with Z or an offset'],
    ['date', { date: '2025-02-30T00:00:00Z' }, 'must be an RFC 3339 date-time with Z or an offset'],
    ['participants', { participants: {} }, 'must be a list'],
    ['participants[0]', { participants: [null] }, 'must be an object'],
    ['participants[1].email', { participants: [{}, { email: 'x' }] }, 'must be an e-mail address of 3 to 254 characters'],
    ['notes[0].email', { notes: [{ text: 'x' }] }, 'is required'],
    [
      'notes[1].email',
      { notes: [{ email: 'ann@acme.example' }, { email: 'ANN@acme.example' }] },
      'must not repeat: a user has one note',
    ],
    ['qa_blocks[0].id', { qa_blocks: [{ id: 'x' }] }, 'must be a UUID'],
    ['qa_blocks[1].id', { qa_blocks: [{ id: UUID }, { id: UUID.toUpperCase() }] }, 'must not repeat within the call'],
    ['qa_blocks[0].answer', { qa_blocks: [{ answer: '\ud800' }] }, 'must not contain a lone surrogate'],
    ['transcript', { transcript: 5 }, 'must be text or a list of segments'],
    ['transcript', { transcript: 'a\0' }, 'must not contain the NUL character'],
    ['transcript[0].text', { transcript: [{ speaker: 'Eva' }] }, 'is required'],
    ['transcript[0].text', { transcript: [{ text: '\udc00' }] }, 'must not contain a lone surrogate'],
    ['transcript[1].start_seconds', { transcript: [{ text: '' }, { text: '', start_seconds: -1 }] }, 'must be at least 0'],
    ['redacted_transcript[0].start', { redacted_transcript: [{ text: '', start: 1 }] }, 'is not a known property'],
  ])('at %s: %j', (field, fields, reason) => {
    expect(parse({ ...REQUIRED, ...fields })).toEqual({ field, reason });
  });

  test('with the list of allowed values for an unknown call_status', () => {
    const outcome = parse({ ...REQUIRED, call_status: 'finished' });
    expect(outcome).toMatchObject({
      field: 'call_status',
      reason: expect.stringContaining('must be one of scheduled, reached_out,'),
    });
  });
});

describe('the id of a Q&A block without one', () => {
  const ids = (fields: object) => {
    const call = record({ qa_blocks: [{}, {}], ...fields });
    return call.deleted ? [] : call.qaBlocks.map(({ id }) => id);
  };

  test('is a UUID derived from the call, so it never changes', () => {
    expect(ids({})).toEqual(['dbea5c57-87df-8543-b922-1316dbf4d703', 'a359fb76-80e1-8b72-bdd6-f14e12cd89ba']);
    for (const id of ids({})) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('differs by call, organization and position in the list', () => {
    const all = [...ids({}), ...ids({ id: 'call_2' }), ...ids({ organization: 'other' })];
    expect(new Set(all).size).toBe(6);
  });

  test('does not depend on the ids of other blocks, and may not equal one of them', () => {
    expect(ids({ qa_blocks: [{ id: UUID }, {}] })).toEqual([UUID, ids({})[1]]);
    expect(parse({ ...REQUIRED, qa_blocks: [{ id: ids({})[1] }, {}] })).toMatchObject({ field: 'qa_blocks[1].id' });
  });
});

test('a note without text keeps its user', () => {
  expect(record({ notes: [{ email: 'ann@acme.example' }, { email: 'bob@acme.example', text: '' }] })).toMatchObject({
    notes: [
      { email: 'ann@acme.example', text: null },
      { email: 'bob@acme.example', text: '' },
    ],
  });
});

test('an empty list of segments stores no transcript, but an empty text stores one', () => {
  expect(record({ transcript: [], redacted_transcript: '' })).toMatchObject({
    transcripts: [{ kind: 'redacted', content: '' }],
  });
});

test('an anonymized name has at most 200 characters', () => {
  const longest = '𝒳'.repeat(200);
  expect(record({ anonymized_name: longest })).toMatchObject({ anonymizedName: longest });
  const problem = { field: 'anonymized_name', reason: 'must have 0 to 200 characters' };
  expect(parse({ ...REQUIRED, anonymized_name: `${longest}x` })).toEqual(problem);
});

test.each([
  ['participants', MAX_ITEMS, () => ({})],
  ['qa_blocks', MAX_ITEMS, () => ({})],
  ['notes', MAX_ITEMS, (i: number) => ({ email: `${i}@acme.example` })],
  ['transcript', 20_000, () => ({ text: '' })],
  ['redacted_transcript', 20_000, () => ({ text: '' })],
])('%s may have at most %i items, and a longer list is refused before its items are read', (field, max, item) => {
  const list = (length: number) => Array.from({ length }, (_, i) => item(i));
  expect(parse({ ...REQUIRED, [field]: list(max) })).toHaveProperty('record');
  const reason = `must have at most ${max} items`;
  expect(parse({ ...REQUIRED, [field]: list(max + 1) })).toEqual({ field, reason });
  // The first item is bad, too, but the reason is the length.
  expect(parse({ ...REQUIRED, [field]: [0, ...list(max)] })).toEqual({ field, reason });
});
