import { ALLOWED_FIELDS } from '@crs/kit/product/allowed-fields';
import type { Call } from '../src/domain/columns.ts';
import { gateOf } from '../src/domain/fields.ts';
import type { View } from '../src/domain/render.ts';
import { flatten } from '../src/domain/transcript.ts';

export const SECRET = Buffer.alloc(32, 7);

/** Sees everything, names as recorded. */
export const OPEN_VIEW: View = {
  gate: gateOf(ALLOWED_FIELDS),
  anonymizeWith: undefined,
  include: { verbatim: true, redacted: true, clean: true },
};

/** A call with something in every field. */
export function sampleCall(changes: Partial<Call> = {}): Call {
  const segments = [
    { speaker: 'Ann', startSeconds: 0, text: 'Hello.' },
    { speaker: 'EVA MUSTER', startSeconds: 2.5, text: 'Good morning.\nEva Muster: to go on.' },
    { speaker: null, startSeconds: null, text: 'eva muster: off the record.' },
  ];
  return {
    callId: 'call_1',
    projectId: '11111111-2222-4333-8444-555555555555',
    callType: 'interview',
    callStatus: 'done',
    anonymityStatus: 'complete',
    date: new Date('2025-02-01T10:00:00Z'),
    createdAt: new Date('2025-01-31T09:08:07.006Z'),
    updatedAt: new Date('2025-02-02T00:00:00Z'),
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
      { kind: 'verbatim', text: flatten(segments), segments },
      { kind: 'redacted', text: 'Ann: Hello.\nEva Muster: Good morning.', segments: [] },
    ],
    ...changes,
  };
}
