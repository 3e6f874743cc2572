import { ALLOWED_FIELDS, type AllowedField } from '@crs/records/allowed-fields';
import { describe, expect, test } from 'vitest';
import { OPEN_VIEW, sampleCall, sampleRecord, TIMES_JSON } from '../../../test/_sample.ts';
import type { CallRecord } from '../call-record.ts';
import { fieldMaskOf } from '../view.ts';
import { encode, renderDetail, renderListItem, type DetailRow, type DetailView } from './index.ts';

const json = (value: unknown) => JSON.stringify(value);
const viewOf = (...fields: readonly AllowedField[]): DetailView => ({ ...OPEN_VIEW, mask: fieldMaskOf(fields) });
const without = (...fields: readonly AllowedField[]) => viewOf(...ALLOWED_FIELDS.filter((field) => !fields.includes(field)));
const textOf = (call: DetailRow, view: DetailView) => [...renderDetail(call, view)].join('');
const detailOf = (call: DetailRow, view: DetailView) => JSON.parse(textOf(call, view));
const kinds = (call: DetailRow, view: DetailView) =>
  detailOf(call, view).transcripts.map((entry: { kind: string }) => entry.kind);

describe('a list item', () => {
  const itemOf = (fields: readonly AllowedField[], changes: Partial<CallRecord> = {}) => {
    const listItemJson = encode(sampleRecord(changes)).listItem.join(TIMES_JSON);
    return [...renderListItem(listItemJson, fieldMaskOf(fields))].join('');
  };
  const start =
    '{"call_id":"call_1","duration_minutes":54.5,"created_at":"2025-01-31T09:08:07.006Z","updated_at":"2025-02-02T00:00:00.000Z",' +
    '"date":"2025-02-01T10:00:00.000Z","call_type":"interview","call_status":"done","project_id":"11111111-2222-4333-8444-555555555555"';

  test('has these keys in this order', () => {
    expect(itemOf(ALLOWED_FIELDS)).toBe(`${start},"segment":"Customers","source":"Network","has_transcript":true}`);
  });

  test('leaves out fields that are not enabled', () => {
    expect(itemOf([])).toBe(`${start},"has_transcript":false}`);
  });

  test('shows empty fields as null', () => {
    const empty = {
      durationMinutes: null,
      date: null,
      callStatus: null,
      projectId: null,
      segment: null,
      source: null,
      transcripts: [],
    };
    expect(JSON.parse(itemOf(ALLOWED_FIELDS, empty))).toEqual({
      call_id: 'call_1',
      duration_minutes: null,
      created_at: '2025-01-31T09:08:07.006Z',
      updated_at: '2025-02-02T00:00:00.000Z',
      date: null,
      call_type: 'interview',
      call_status: null,
      project_id: null,
      segment: null,
      source: null,
      has_transcript: false,
    });
  });

  test.each<[AllowedField[], boolean, boolean]>([
    [['transcripts.verbatim'], true, true],
    [['transcripts.redacted'], true, true],
    [['transcripts.verbatim'], false, false],
    [['transcripts.clean', 'qa_blocks'], true, false],
  ])('with the fields %j (verbatim transcript stored: %s) shows has_transcript as %s', (fields, hasVerbatim, expected) => {
    expect(JSON.parse(itemOf(fields, hasVerbatim ? {} : { transcripts: [] })).has_transcript).toBe(expected);
  });
});

describe('the call detail', () => {
  test('has these keys in this order', () => {
    expect(textOf(sampleCall(), OPEN_VIEW)).toBe(
      json({
        call_id: 'call_1',
        project_id: '11111111-2222-4333-8444-555555555555',
        call_type: 'interview',
        call_status: 'done',
        anonymity_status: 'complete',
        date: '2025-02-01T10:00:00.000Z',
        created_at: '2025-01-31T09:08:07.006Z',
        updated_at: '2025-02-02T00:00:00.000Z',
        duration_minutes: 54.5,
        segment: 'Customers',
        source: 'Network',
        rating: 4,
        cost: 120.5,
        interviewee: { name: 'Eva Muster', job_title: 'CFO', organization: 'Initech', country: 'Chile', bio: 'Two companies.' },
        participants: [
          { name: 'Ann', role: 'host', email: 'ann@acme.example' },
          { name: ' eva muster ', role: 'expert', email: 'em@initech.example' },
          { name: null, role: null, email: null },
        ],
        summary: 'A *summary*.',
        key_takeaways: '- one',
        key_takeaways_status: 'pending',
        qa_blocks: [{ id: '11111111-2222-4333-8444-666666666666', question: 'Why?', answer: 'Because.', section: null }],
        transcripts: [
          {
            kind: 'verbatim',
            language: 'en',
            text: 'Ann: Hello.\nEVA MUSTER: Good morning.\nEva Muster: to go on.\neva muster: off the record.',
            segments: [
              { speaker: 'Ann', start_seconds: 0, text: 'Hello.' },
              { speaker: 'EVA MUSTER', start_seconds: 2.5, text: 'Good morning.\nEva Muster: to go on.' },
              { speaker: null, start_seconds: null, text: 'eva muster: off the record.' },
            ],
          },
          { kind: 'redacted', language: 'en', text: 'Ann: Hello.\nEva Muster: Good morning.', segments: [] },
          { kind: 'clean', language: 'en', text: 'Q: Why?\nA: Because.', segments: [] },
        ],
      }),
    );
  });

  test('of a call without optional values has nulls, empty lists and an interviewee object', () => {
    const empty = sampleCall({
      projectId: null,
      callStatus: null,
      anonymityStatus: null,
      date: null,
      durationMinutes: null,
      segment: null,
      source: null,
      rating: null,
      cost: null,
      name: null,
      jobTitle: null,
      employer: null,
      country: null,
      bio: null,
      participants: [],
      summary: null,
      ktas: null,
      ktaApprovalStatus: null,
      qaBlocks: [],
      language: null,
      transcripts: [],
    });
    const { call_id, call_type, created_at, updated_at, interviewee, participants, qa_blocks, transcripts, ...rest } = detailOf(
      empty,
      OPEN_VIEW,
    );
    expect([call_id, call_type, created_at, updated_at]).not.toContain(null);
    expect(interviewee).toEqual({ name: null, job_title: null, organization: null, country: null, bio: null });
    expect([participants, qa_blocks, transcripts]).toEqual([[], [], []]);
    expect(new Set(Object.values(rest))).toEqual(new Set([null]));
    expect(Object.keys(rest)).toHaveLength(12);
  });

  test('without any enabled field has only the fields that every call has', () => {
    expect(detailOf(sampleCall(), viewOf())).toEqual({
      call_id: 'call_1',
      project_id: '11111111-2222-4333-8444-555555555555',
      call_type: 'interview',
      call_status: 'done',
      anonymity_status: 'complete',
      date: '2025-02-01T10:00:00.000Z',
      created_at: '2025-01-31T09:08:07.006Z',
      updated_at: '2025-02-02T00:00:00.000Z',
      duration_minutes: 54.5,
      interviewee: {},
      transcripts: [],
    });
  });

  test.each<[AllowedField, ...string[]]>([
    ['interviewee.name', 'interviewee.name'],
    ['interviewee.job_title', 'interviewee.job_title'],
    ['interviewee.organization', 'interviewee.organization'],
    ['interviewee.country', 'interviewee.country'],
    ['interviewee.bio', 'interviewee.bio'],
    ['participants', 'participants', 'participants[].name', 'participants[].role', 'participants[].email'],
    ['participants.email', 'participants[].email'],
    ['summary', 'summary'],
    ['key_takeaways', 'key_takeaways', 'key_takeaways_status'],
    ['qa_blocks', 'qa_blocks', 'qa_blocks[].id', 'qa_blocks[].question', 'qa_blocks[].answer', 'qa_blocks[].section', 'clean'],
    ['rating', 'rating'],
    ['cost', 'cost'],
    ['segment', 'segment'],
    ['source', 'source'],
    ['transcripts.verbatim', 'verbatim'],
    ['transcripts.redacted', 'redacted'],
    ['transcripts.clean', 'clean'],
  ])('without %s lacks exactly %j', (field, ...absent) => {
    const paths = (view: DetailView) => {
      const { transcripts, ...rest } = detailOf(sampleCall(), view);
      return [...pathsOf(rest), ...transcripts.map(({ kind }: { kind: string }) => kind)];
    };
    expect(paths(OPEN_VIEW).filter((path) => !paths(without(field)).includes(path))).toEqual(absent);
  });
});

/** The paths of all keys. A key that several list items have is listed once. */
function pathsOf(value: unknown): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(pathsOf))].map((path) => `[].${path}`);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    key,
    ...pathsOf(inner).map((path) => (path.startsWith('[]') ? key + path : `${key}.${path}`)),
  ]);
}

describe('transcript entries', () => {
  test.each<[DetailView['include'], string[]]>([
    [{ verbatim: true, redacted: true, clean: true }, ['verbatim', 'redacted', 'clean']],
    [{ verbatim: false, redacted: true, clean: true }, ['redacted', 'clean']],
    [{ verbatim: true, redacted: false, clean: true }, ['verbatim', 'clean']],
    [{ verbatim: true, redacted: true, clean: false }, ['verbatim', 'redacted']],
    [{ verbatim: false, redacted: false, clean: false }, []],
  ])('are those that the request includes: %j', (include, expected) => {
    expect(kinds(sampleCall(), { ...OPEN_VIEW, include })).toEqual(expected);
  });

  test('are absent if the request includes them but they are not enabled', () => {
    expect(kinds(sampleCall(), without('transcripts.verbatim', 'transcripts.redacted'))).toEqual(['clean']);
    expect(kinds(sampleCall(), without('qa_blocks'))).toEqual(['verbatim', 'redacted']);
  });

  test.each([null, 'not_requested', 'started', 'errored'] as const)(
    'have no redacted one while its redaction is %s',
    (anonymityStatus) => {
      expect(kinds(sampleCall({ anonymityStatus }), OPEN_VIEW)).toEqual(['verbatim', 'clean']);
    },
  );

  test('do not have a kind that is not recorded', () => {
    expect(kinds(sampleCall({ transcripts: [] }), OPEN_VIEW)).toEqual(['clean']);
    expect(kinds(sampleCall({ qaBlocks: [] }), OPEN_VIEW)).toEqual(['verbatim', 'redacted']);
  });

  test('have an entry for an empty text', () => {
    const transcripts: CallRecord['transcripts'] = [{ kind: 'verbatim', content: '' }];
    expect(kinds(sampleCall({ transcripts, qaBlocks: [] }), OPEN_VIEW)).toEqual(['verbatim']);
  });
});
