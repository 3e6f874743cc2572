import type { AllowedField } from '@crs/kit/product/allowed-fields';

/** What of a call its organization sees: `allowed_fields` with every implication applied, so that no reader has to remember one. */
export interface Gate {
  name: boolean;
  jobTitle: boolean;
  employer: boolean;
  country: boolean;
  bio: boolean;
  participants: boolean;
  participantEmails: boolean;
  summary: boolean;
  /** The takeaways and their review status. */
  keyTakeaways: boolean;
  qaBlocks: boolean;
  rating: boolean;
  cost: boolean;
  segment: boolean;
  source: boolean;
  verbatim: boolean;
  redacted: boolean;
  clean: boolean;
  /** Whether there is a transcript is said only to those who may see one. */
  hasTranscript: boolean;
}

/** Paths that aren't known (auth may be newer than this service) open nothing. */
export function gateOf(allowedFields: readonly string[]): Gate {
  const allowed = new Set(allowedFields);
  const has = (field: AllowedField) => allowed.has(field);
  return {
    name: has('interviewee.name'),
    jobTitle: has('interviewee.job_title'),
    employer: has('interviewee.organization'),
    country: has('interviewee.country'),
    bio: has('interviewee.bio'),
    participants: has('participants'),
    participantEmails: has('participants.email') && has('participants'),
    summary: has('summary'),
    keyTakeaways: has('key_takeaways'),
    qaBlocks: has('qa_blocks'),
    rating: has('rating'),
    cost: has('cost'),
    segment: has('segment'),
    source: has('source'),
    verbatim: has('transcripts.verbatim'),
    redacted: has('transcripts.redacted'),
    clean: has('transcripts.clean') && has('qa_blocks'),
    hasTranscript: has('transcripts.verbatim') || has('transcripts.redacted'),
  };
}
