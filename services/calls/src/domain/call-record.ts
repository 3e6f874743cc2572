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
  .strictObject({ speaker: nullableText, start_seconds: orNull(amount), text: freeText })
  .transform(({ speaker, start_seconds: startSeconds, text }) => ({ speaker, startSeconds, text }));

const transcript = orNull(z.union([freeText, list(segment)], 'must be text or a list of segments'));

const expert = z
  .strictObject({
    name: nullableText,
    job_title: nullableText,
    organization: nullableText,
    country: nullableText,
    bio: nullableText,
  })
  .transform(({ job_title: jobTitle, ...rest }): Interviewee => ({ ...rest, jobTitle }));

const NOBODY: Interviewee = { name: null, jobTitle: null, organization: null, country: null, bio: null };

const participant = z.strictObject({ name: nullableText, role: nullableText, email: orNull(email) });

const note = z.strictObject({ email, text: nullableText });

const qaBlock = z.strictObject({ id: orNull(uuid), question: nullableText, answer: nullableText, section: nullableText });

const call = z
  .strictObject({
    type: z.literal('call'),
    deleted: z.literal([false, null]).optional(),
    organization: organizationId,
    id: callId,
    project_id: orNull(uuid),
    call_type: orDefault(z.enum(CALL_TYPES), 'interview'),
    conducted_by: orNull(email),
    call_status: orNull(z.enum(CALL_STATUSES)),
    anonymity_status: orNull(z.enum(ANONYMITY_STATUSES)),
    cost: orNull(amount),
    created_at: orNull(instant),
    date: orNull(instant),
    duration_minutes: orNull(amount),
    expert: orDefault(expert, NOBODY),
    anonymized_name: nullableText,
    participants: orDefault(list(participant), []),
    ktas: nullableText,
    kta_approval_status: orNull(z.enum(KEY_TAKEAWAYS_STATUSES)),
    notes: orDefault(list(note), []),
    qa_blocks: orDefault(list(qaBlock), []),
    rating: orNull(z.number().min(1).max(5)),
    segment: nullableText,
    source: nullableText,
    summary: nullableText,
    transcript,
    redacted_transcript: transcript,
    language: nullableText,
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
