// A sample call for tests of rendering, as a parsed record and as a stored row.

import { ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import type { CallRecord } from '../src/domain/call-record.ts';
import { encode, type DetailRow, type DetailView } from '../src/domain/stored-json/index.ts';
import { fieldMaskOf } from '../src/domain/view.ts';

export const SECRET = Buffer.alloc(32, 7);

/** The view of an organization that sees every field, and names as recorded. */
export const OPEN_VIEW: DetailView = {
  mask: fieldMaskOf(ALLOWED_FIELDS),
  anonymizeWith: undefined,
  include: { verbatim: true, redacted: true, clean: true },
};

/** The created_at and updated_at of the sample, as they stand in its stored JSON. */
export const TIMES_JSON = ',"created_at":"2025-01-31T09:08:07.006Z","updated_at":"2025-02-02T00:00:00.000Z"';

/** The stored row of a call with a value in every field. */
export function sampleCall(changes: Partial<CallRecord> = {}): DetailRow {
  const record = sampleRecord(changes);
  const { name, employer, anonymizedName, anonymityStatus } = record;
  const { detail, transcripts } = encode(record);
  return {
    detailJson: detail.join(TIMES_JSON),
    ...transcripts,
    redacted: anonymityStatus === 'complete' ? transcripts.redacted : null,
    interviewee: JSON.stringify([name, employer, anonymizedName]),
  };
}

export function sampleRecord(changes: Partial<CallRecord> = {}): CallRecord {
  const segments = [
    { speaker: 'Ann', start_seconds: 0, text: 'Hello.' },
    { speaker: 'EVA MUSTER', start_seconds: 2.5, text: 'Good morning.\nEva Muster: to go on.' },
    { speaker: null, start_seconds: null, text: 'eva muster: off the record.' },
  ];
  return {
    callId: 'call_1',
    projectId: '11111111-2222-4333-8444-555555555555',
    callType: 'interview',
    callStatus: 'done',
    anonymityStatus: 'complete',
    date: new Date('2025-02-01T10:00:00Z'),
    createdAt: new Date('2025-01-31T09:08:07.006Z'),
    durationMinutes: 54.5,
    segment: 'Customers',
    source: 'Network',
    rating: 4,
    cost: 120.5,
    name: 'Eva Muster',
    jobTitle: 'CFO',
    employer: 'Initech',
    country: 'Chile',
    bio: 'Two companies.',
    anonymizedName: null,
    participants: [
      { name: 'Ann', role: 'host', email: 'ann@acme.example' },
      { name: ' eva muster ', role: 'expert', email: 'em@initech.example' },
      { name: null, role: null, email: null },
    ],
    summary: 'A *summary*.',
    ktas: '- one',
    ktaApprovalStatus: 'pending',
    qaBlocks: [{ id: '11111111-2222-4333-8444-666666666666', question: 'Why?', answer: 'Because.', section: null }],
    language: 'en',
    transcripts: [
      { kind: 'verbatim', content: segments },
      { kind: 'redacted', content: 'Ann: Hello.\nEva Muster: Good morning.' },
    ],
    deleted: false,
    organization: 'acme',
    conductedBy: null,
    notes: [],
    ...changes,
  };
}
