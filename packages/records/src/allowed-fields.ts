/** The parts of the call detail that an organization's `allowed_fields` setting controls, as dotted paths. Auth accepts no others; calls applies the setting. */
export const ALLOWED_FIELDS = [
  'interviewee.name',
  'interviewee.job_title',
  'interviewee.organization',
  'interviewee.country',
  'interviewee.bio',
  'participants',
  'participants.email',
  'summary',
  'key_takeaways',
  'qa_blocks',
  'rating',
  'cost',
  'segment',
  'source',
  'transcripts.verbatim',
  'transcripts.redacted',
  'transcripts.clean',
] as const;

export type AllowedField = (typeof ALLOWED_FIELDS)[number];

/** The fields that an organization without the setting sees. */
export const DEFAULT_ALLOWED_FIELDS: readonly AllowedField[] = ALLOWED_FIELDS.filter(
  (field) => field !== 'participants.email' && field !== 'cost',
);

export function isAllowedField(text: string): text is AllowedField {
  return (ALLOWED_FIELDS as readonly string[]).includes(text);
}
