/**
 * The parts of the call detail that an organization's `allowed_fields` setting switches on and off, as dotted paths. A closed set:
 * auth refuses any other when the setting is made, the calls service applies them.
 */
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

/** What an organization sees until it says otherwise. */
export const DEFAULT_ALLOWED_FIELDS: readonly AllowedField[] = ALLOWED_FIELDS.filter(
  (field) => field !== 'participants.email' && field !== 'cost',
);

/** Whether it is one of the paths, exactly as written there. */
export function isAllowedField(text: string): text is AllowedField {
  return (ALLOWED_FIELDS as readonly string[]).includes(text);
}
