export const CALL_TYPES = ['interview', 'meeting'] as const;
export const CALL_STATUSES = [
  'scheduled',
  'reached_out',
  'not_scheduled',
  'done',
  'rescheduled',
  'not_interested',
  'canceled',
  'candidate',
] as const;
export const ANONYMITY_STATUSES = ['not_requested', 'started', 'complete', 'errored'] as const;
export const KTA_APPROVAL_STATUSES = ['pending', 'approved'] as const;

export interface Participant {
  name: string | null;
  role: string | null;
  email: string | null;
}

export interface QaBlock {
  id: string;
  question: string | null;
  answer: string | null;
  section: string | null;
}

export interface Transcript {
  kind: 'verbatim' | 'redacted';
  /** Plain text, or at least one segment. */
  content: string | Segment[];
}

export interface Segment {
  speaker: string | null;
  start_seconds: number | null;
  text: string;
}
