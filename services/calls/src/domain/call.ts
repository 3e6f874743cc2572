/** A call as it is recorded, and the closed sets of its states. */

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
export const KEY_TAKEAWAYS_STATUSES = ['pending', 'approved'] as const;

export type CallType = (typeof CALL_TYPES)[number];
export type CallStatus = (typeof CALL_STATUSES)[number];
export type AnonymityStatus = (typeof ANONYMITY_STATUSES)[number];
export type KeyTakeawaysStatus = (typeof KEY_TAKEAWAYS_STATUSES)[number];

/** What lists show of a call. */
export interface CallSummary {
  callId: string;
  durationMinutes: number | null;
  createdAt: Date;
  updatedAt: Date;
  /** When it took place. */
  date: Date | null;
  callType: CallType;
  callStatus: CallStatus | null;
  projectId: string | null;
  segment: string | null;
  source: string | null;
  /** A verbatim transcript is recorded. */
  hasVerbatim: boolean;
}

/** Everything recorded about a call but what belongs to single users. */
export interface Call extends Omit<CallSummary, 'hasVerbatim'> {
  anonymityStatus: AnonymityStatus | null;
  rating: number | null;
  cost: number | null;
  interviewee: Interviewee;
  /** What the source of the record calls the interviewee where the name isn't to be shown. */
  anonymizedName: string | null;
  participants: Participant[];
  summary: string | null;
  keyTakeaways: string | null;
  keyTakeawaysStatus: KeyTakeawaysStatus | null;
  qaBlocks: QaBlock[];
  /** Of the transcripts. */
  language: string | null;
  /** At most one of each kind. */
  transcripts: Transcript[];
}

export interface Interviewee {
  name: string | null;
  jobTitle: string | null;
  /** The employer. */
  organization: string | null;
  country: string | null;
  bio: string | null;
}

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
  /** The whole text; of a segmented transcript, its segments flattened. */
  text: string;
  /** Empty where the transcript was recorded as plain text. */
  segments: Segment[];
}

export interface Segment {
  speaker: string | null;
  startSeconds: number | null;
  text: string;
}
