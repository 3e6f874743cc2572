/** Parses the `call` import record, and its deletion, strictly into the form in which calls are stored. */
import { createHash } from 'node:crypto';
import { snakeCase } from '@crs/kit/data/column';
import {
  callId,
  email,
  freeText,
  timestamp,
  list,
  MAX_ITEMS,
  nullableText,
  organizationId,
  orDefault,
  orNull,
  uuid,
} from '@crs/records/import-record';
import { notMerge, ofMerge } from '@crs/records/merge';
import { fold } from '@crs/kit/text';
import { z } from 'zod';
import type { QaBlock, Transcript } from './call.ts';
import { CONTENT, METADATA, type Content, type Metadata } from './columns.ts';

/** A whole call. A property that is absent from the line is null or empty. */
export interface CallRecord extends Metadata, Content {
  deleted: false;
  organization: string;
  /** Null: the call keeps the stored time, or gets the time of this import. */
  createdAt: Date | null;
  qaBlocks: QaBlock[];
  /** At most one of each kind. */
  transcripts: Transcript[];
  /** E-mail of the user, as written. */
  conductedBy: string | null;
  /** At most one a user, by e-mail as written. A note without text isn't stored, but its user must exist. */
  notes: { email: string; text: string | null }[];
}

export interface CallDeletion {
  deleted: true;
  organization: string;
  callId: string;
}

/** A column, the line's property that fills it, and the schema of that property. */
type Field = [column: string, property: string, schema: z.ZodType];

const COLUMNS = Object.entries({ ...METADATA, ...CONTENT });
export const LINE_FIELDS = COLUMNS.flatMap(([name, column]): Field[] =>
  'line' in column ? [[name, snakeCase(name), column.line]] : [],
);
export const EXPERT_FIELDS = COLUMNS.flatMap(([name, column]): Field[] =>
  'expert' in column ? [[name, column.expert, column.schema]] : [],
);

function shapeOf(fields: Field[]): object {
  return Object.fromEntries(fields.map(([, property, schema]) => [property, schema]));
}

/** The columns whose value is a property of the line as parsed. */
function valuesOf(line: { expert: Record<string, unknown> | null }): Omit<Metadata & Content, 'callId'> {
  const values: Record<string, unknown> = {};
  for (const [name, property] of LINE_FIELDS) values[name] = (line as Record<string, unknown>)[property];
  for (const [name, property] of EXPERT_FIELDS) values[name] = line.expert?.[property] ?? null;
  // TypeScript can't infer this. `columns.ts` declares the type of each column together with the schema of its property.
  return values as ReturnType<typeof valuesOf>;
}

const segment = z.strictObject({
  speaker: nullableText.describe('Who speaks.'),
  start_seconds: orNull(z.number().min(0)).describe('Since the start of the call.'),
  text: freeText.describe('What is said.'),
});

/** A meeting of two hours has 1,000 to 2,000 turns of speakers. Captions with one segment in three seconds last 16 hours. */
const MAX_SEGMENTS = 20_000;

const transcript = orNull(z.union([freeText, list(segment, { most: MAX_SEGMENTS })], 'must be text or a list of segments'));

const note = z.strictObject({
  email: email.describe('The author. A user has one note, which nobody else sees.'),
  text: nullableText.describe('The note. Null: none.'),
});

const qaBlock = z.strictObject({
  id: orNull(uuid).describe('Unique within the call. Absent: derived from the call and the position.'),
  question: nullableText.describe('The question.'),
  answer: nullableText.describe('The answer, which can be read alone.'),
  section: nullableText.describe('Heading above the question.'),
});

const SHAPE = {
  type: z.literal('call'),
  deleted: z.literal([false, null]).optional().describe('Not true: the line is a record, not a deletion.'),
  organization: organizationId,
  id: callId.describe('Identifies the call: 1 to 128 of `A-Z`, `a-z`, `0-9`, `.`, `_`, `:` and `-`.'),
  ...shapeOf(LINE_FIELDS),
  expert: orNull(z.strictObject({ ...shapeOf(EXPERT_FIELDS) })).describe('The interviewee.'),
  qa_blocks: orDefault(list(qaBlock, { most: MAX_ITEMS }), []).describe('Questions and answers, in the order of the call.'),
  conducted_by: orNull(email).describe('The user who conducted the call, and therefore sees it.'),
  created_at: orNull(timestamp).describe('Absent: the stored time, or the time of this import.'),
  notes: orDefault(list(note, { most: MAX_ITEMS }), []).describe('Personal notes of users. REST never returns them.'),
  transcript: transcript.describe('The verbatim transcript: plain text or segments.'),
  redacted_transcript: transcript.describe('The transcript without traces of the interviewee, in the same form.'),
};

const LINE = z.strictObject(SHAPE);

/** Refuses what no call may have. */
function toRecord(line: z.output<typeof LINE>, context: z.RefinementCtx): CallRecord {
  const qaBlocks = line.qa_blocks.map((block, i): QaBlock => ({
    ...block,
    id: block.id ?? derivedId(line.organization, line.id, i),
  }));
  const repeatedBlock = firstRepeated(qaBlocks.map(({ id }) => id));
  if (repeatedBlock !== -1) refuse(context, ['qa_blocks', repeatedBlock, 'id'], 'must not repeat within the call');
  const repeatedNote = firstRepeated(line.notes.map((it) => fold(it.email)));
  if (repeatedNote !== -1) refuse(context, ['notes', repeatedNote, 'email'], 'must not repeat: a user has one note');
  return Object.assign(valuesOf(line), {
    deleted: false as const,
    organization: line.organization,
    callId: line.id,
    createdAt: line.created_at,
    conductedBy: line.conducted_by,
    notes: line.notes,
    qaBlocks,
    transcripts: [...recorded('verbatim', line.transcript), ...recorded('redacted', line.redacted_transcript)],
  });
}

const call = z.strictObject({ ...SHAPE, merge: notMerge }).transform(toRecord);

/** A line of type `call` that changes properties of a stored call. */
export const callMerge = z
  .strictObject({ ...SHAPE, ...ofMerge })
  .transform((line, context) => ({ organization: line.organization, id: toRecord(line, context).callId }));

const deletion = z
  .strictObject({ type: z.literal('call'), deleted: z.literal(true), organization: organizationId, id: callId })
  .transform(({ organization, id }): CallDeletion => ({ deleted: true, organization, callId: id }));

/** A line of type `call`. */
export const callLine = z.discriminatedUnion('deleted', [call, deletion], 'must be true or false');

/** An empty list means no transcript. */
function recorded(kind: Transcript['kind'], content: z.output<typeof transcript>): Transcript[] {
  if (content === null || (content.length === 0 && typeof content !== 'string')) return [];
  return [{ kind, content }];
}

/** Returns the index of the first repeated value, or -1. */
function firstRepeated(values: string[]): number {
  const seen = new Set<string>();
  return values.findIndex((value) => seen.size === seen.add(value).size);
}

function refuse(context: z.RefinementCtx, path: PropertyKey[], message: string): void {
  context.addIssue({ code: 'custom', path, message });
}

/** Derives the id of a block that was recorded without one, so that importing the same file again changes nothing. A UUID of version 8 (RFC 9562). */
export function derivedId(organization: string, id: string, position: number): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([organization, id, position]))
    .digest();
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
