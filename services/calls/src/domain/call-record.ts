/** The `call` import record and its deletion, read strictly and brought to the form in which calls are stored. */
import { createHash } from 'node:crypto';
import {
  callId,
  email,
  freeText,
  instant,
  list,
  nullableText,
  organizationId,
  orDefault,
  orNull,
  uuid,
} from '@crs/kit/product/import-record';
import { fold } from '@crs/kit/text';
import { z } from 'zod';
import {
  ANONYMITY_STATUSES,
  CALL_STATUSES,
  CALL_TYPES,
  KEY_TAKEAWAYS_STATUSES,
  type Call,
  type Interviewee,
  type QaBlock,
  type Transcript,
} from './call.ts';
import { flatten } from './transcript.ts';

/** A whole call: what the line leaves out is null or empty. */
export interface CallRecord extends Omit<Call, 'createdAt' | 'updatedAt'> {
  deleted: false;
  organization: string;
  /** Null: keep the stored one, or the time of this import. */
  createdAt: Date | null;
  /** E-mail of the user, as written. */
  conductedBy: string | null;
  /** At most one a user, by e-mail as written. Without text it is none, but names its user all the same. */
  notes: { email: string; text: string | null }[];
}

export interface CallDeletion {
  deleted: true;
  organization: string;
  callId: string;
}

const amount = z.number().min(0);

const segment = z
  .strictObject({
    speaker: nullableText.describe('Who speaks.'),
    start_seconds: orNull(amount).describe('Seconds since the start of the call.'),
    text: freeText.describe('What is said.'),
  })
  .transform(({ speaker, start_seconds: startSeconds, text }) => ({ speaker, startSeconds, text }));

const transcript = orNull(z.union([freeText, list(segment)], 'must be text or a list of segments'));

const expert = z
  .strictObject({
    name: nullableText.describe('The real name.'),
    job_title: nullableText.describe('Job title.'),
    organization: nullableText.describe('The employer.'),
    country: nullableText.describe('Country, in any spelling. `list_calls` compares it without regard to case.'),
    bio: nullableText.describe('Short biography.'),
  })
  .transform(({ job_title: jobTitle, ...rest }): Interviewee => ({ ...rest, jobTitle }));

const NOBODY: Interviewee = { name: null, jobTitle: null, organization: null, country: null, bio: null };

const participant = z.strictObject({
  name: nullableText.describe('Name of the participant.'),
  role: nullableText.describe('Any text, such as `host`.'),
  email: orNull(email).describe('Need not be the e-mail address of a user.'),
});

const note = z.strictObject({
  email: email.describe('The user who wrote the note. A user has one note, which nobody else sees.'),
  text: nullableText.describe('The note. Null: none.'),
});

const qaBlock = z.strictObject({
  id: orNull(uuid).describe('Must not repeat within the call. Absent: derived from the call and the position.'),
  question: nullableText.describe('The question.'),
  answer: nullableText.describe('The answer, as a statement that can be read alone.'),
  section: nullableText.describe('Heading under which the question stands.'),
});

const call = z
  .strictObject({
    type: z.literal('call'),
    deleted: z.literal([false, null]).optional().describe('Not true: the line is a record, not a deletion.'),
    organization: organizationId,
    id: callId.describe('Identifies the call within the organization: 1 to 128 of `A-Z`, `a-z`, `0-9`, `.`, `_`, `:` and `-`.'),
    project_id: orNull(uuid).describe(
      'The project that the call belongs to. Null: only the user who conducted the call sees it in the tools.',
    ),
    call_type: orDefault(z.enum(CALL_TYPES), 'interview').describe(
      '`interview`: a call with an expert. `meeting`: an internal or recorded meeting.',
    ),
    conducted_by: orNull(email).describe('E-mail address of the user who conducted the call, and therefore sees it.'),
    call_status: orNull(z.enum(CALL_STATUSES)).describe('Where scheduling stands.'),
    anonymity_status: orNull(z.enum(ANONYMITY_STATUSES)).describe(
      'Where redaction of the transcript stands. REST shows the redacted transcript once this is `complete`.',
    ),
    cost: orNull(amount).describe('Recorded spend in the currency of the project.'),
    created_at: orNull(instant).describe('When the record was created. Absent: the stored time, or the time of this import.'),
    date: orNull(instant).describe('When the call took place, or is to take place.'),
    duration_minutes: orNull(amount).describe('Length of the call in minutes.'),
    expert: orDefault(expert, NOBODY).describe('The interviewee.'),
    anonymized_name: nullableText.describe(
      'Shown by REST in place of the name of the interviewee where names are anonymized. Null: REST makes one up.',
    ),
    participants: orDefault(list(participant), []).describe('Who took part.'),
    ktas: nullableText.describe('Key takeaways in Markdown. REST calls them `key_takeaways`.'),
    kta_approval_status: orNull(z.enum(KEY_TAKEAWAYS_STATUSES)).describe(
      'Whether somebody has reviewed the key takeaways. REST calls it `key_takeaways_status`.',
    ),
    notes: orDefault(list(note), []).describe('Personal notes of users. REST never shows them.'),
    qa_blocks: orDefault(list(qaBlock), []).describe('Questions and answers, in the order of the call.'),
    rating: orNull(z.number().min(1).max(5)).describe('Rating of the call, 5 being best.'),
    segment: nullableText.describe('Label that groups the calls of a project by kind of interviewee.'),
    source: nullableText.describe('Any text, such as the name of an expert network.'),
    summary: nullableText.describe('Summary in Markdown.'),
    transcript: transcript.describe('The verbatim transcript: plain text, or a list of segments.'),
    redacted_transcript: transcript.describe(
      'The transcript without names and other traces of the interviewee, in the same form.',
    ),
    language: nullableText.describe('Language of the transcripts, such as `en`.'),
  })
  .transform((line, context): CallRecord => {
    const qaBlocks = line.qa_blocks.map((block, i): QaBlock => ({
      ...block,
      id: block.id ?? derivedId(line.organization, line.id, i),
    }));
    const repeatedBlock = firstRepeated(qaBlocks.map(({ id }) => id));
    if (repeatedBlock !== -1) refuse(context, ['qa_blocks', repeatedBlock, 'id'], 'must not repeat within the call');
    const repeatedNote = firstRepeated(line.notes.map((it) => fold(it.email)));
    if (repeatedNote !== -1) refuse(context, ['notes', repeatedNote, 'email'], 'must not repeat: a user has one note');
    return {
      deleted: false,
      organization: line.organization,
      callId: line.id,
      projectId: line.project_id,
      callType: line.call_type,
      conductedBy: line.conducted_by,
      callStatus: line.call_status,
      anonymityStatus: line.anonymity_status,
      cost: line.cost,
      createdAt: line.created_at,
      date: line.date,
      durationMinutes: line.duration_minutes,
      interviewee: line.expert,
      anonymizedName: line.anonymized_name,
      participants: line.participants,
      keyTakeaways: line.ktas,
      keyTakeawaysStatus: line.kta_approval_status,
      notes: line.notes,
      qaBlocks,
      rating: line.rating,
      segment: line.segment,
      source: line.source,
      summary: line.summary,
      transcripts: [...recorded('verbatim', line.transcript), ...recorded('redacted', line.redacted_transcript)],
      language: line.language,
    };
  });

const deletion = z
  .strictObject({ type: z.literal('call'), deleted: z.literal(true), organization: organizationId, id: callId })
  .transform(({ organization, id }): CallDeletion => ({ deleted: true, organization, callId: id }));

/** A line of type `call`. */
export const callLine = z.discriminatedUnion('deleted', [call, deletion], 'must be true or false');

/** A list without a segment holds no transcript. */
function recorded(kind: Transcript['kind'], content: z.output<typeof transcript>): Transcript[] {
  if (content === null || (content.length === 0 && typeof content !== 'string')) return [];
  return [
    typeof content === 'string' ? { kind, text: content, segments: [] } : { kind, text: flatten(content), segments: content },
  ];
}

/** Where a value occurs for the second time, or -1. */
function firstRepeated(values: string[]): number {
  const seen = new Set<string>();
  return values.findIndex((value) => seen.size === seen.add(value).size);
}

function refuse(context: z.RefinementCtx, path: PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path, message });
}

/** The id of a block that was recorded without one: the same whenever the same file is imported. A UUID of version 8 (RFC 9562). */
function derivedId(organization: string, id: string, position: number): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([organization, id, position]))
    .digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
