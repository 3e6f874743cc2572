import type { WorkerTask } from '@crs/kit/process/worker';
import { withoutNulls } from '@crs/records/export';
import { MAX_LINE_BYTES } from '@crs/records/import-record';
import { fold } from '@crs/kit/text';
import { derivedId, EXPERT_FIELDS, LINE_FIELDS } from './call-record.ts';
import type { QaBlock, Transcript } from './call.ts';
import type { Content, Metadata, Stored } from './columns.ts';
import { contentJson } from './stored-json/index.ts';

/** A stored call with the ids of the users whom it names. */
export interface ExportedCall extends Metadata, Stored {
  createdAt: Date;
  conductedBy: string | null;
  notes: { userId: string; text: string }[];
}

/** A call to export. */
interface LineInput {
  organization: string;
  call: ExportedCall;
  /** E-mails by user id. A user without an entry is being deleted: `conducted_by` and their notes are omitted. */
  emails: Map<string, string>;
}

/** Renders a line. For long lines, the worker thread imports this module and calls it. */
export const run: WorkerTask<LineInput, Uint8Array>['run'] = (input) => Buffer.from(JSON.stringify(exportLine(input)));
export const lineWriter: WorkerTask<LineInput, Uint8Array> = { url: import.meta.url, run };

/**
 * Returns the line that an import turns back into this call. From a line over MAX_LINE_BYTES it omits values that an import sets by itself: derived ids
 * of Q&A blocks and the default call type. Other lines keep them, so that readers of an export have them.
 */
function exportLine({ organization, call, emails }: LineInput): object {
  const content = contentOf(call);
  const line = lineOf(organization, { ...call, ...content }, emails);
  if (Buffer.byteLength(JSON.stringify(line)) <= MAX_LINE_BYTES) return line;
  const qaBlocks = content.qaBlocks.map(({ id, ...block }, i) =>
    withoutNulls({ id: id === derivedId(organization, call.callId, i) ? null : id, ...block }),
  );
  return withoutNulls({
    ...line,
    call_type: call.callType === 'interview' ? null : call.callType,
    qa_blocks: qaBlocks.length > 0 ? qaBlocks : null,
  });
}

interface AllContent extends Content {
  qaBlocks: QaBlock[];
  transcripts: Record<Transcript['kind'], Transcript['content'] | null>;
}

/** Returns the call's content under its column names, by which `LINE_FIELDS` finds it. `contentJson` returns it under the names of the REST API. */
function contentOf(call: ExportedCall): AllContent {
  const { key_takeaways, key_takeaways_status, qa_blocks, verbatim, redacted, ...content } = JSON.parse(contentJson(call));
  return {
    ...content,
    ktas: key_takeaways,
    ktaApprovalStatus: key_takeaways_status,
    qaBlocks: qa_blocks,
    transcripts: { verbatim, redacted },
  };
}

function lineOf(organization: string, call: ExportedCall & AllContent, emails: Map<string, string>): object {
  const { participants, qaBlocks, transcripts } = call;
  const expert = withoutNulls(valuesOf(call, EXPERT_FIELDS));
  const notes = call.notes.flatMap(({ userId, text }) => {
    const email = emails.get(userId);
    return email === undefined ? [] : { email, text };
  });
  // Ordered by e-mail, because user ids differ between installations.
  notes.sort((a, b) => (fold(a.email) < fold(b.email) ? -1 : 1));
  return withoutNulls({
    type: 'call',
    organization,
    id: call.callId,
    ...valuesOf(call, LINE_FIELDS),
    created_at: call.createdAt,
    conducted_by: (call.conductedBy && emails.get(call.conductedBy)) ?? null,
    expert: Object.keys(expert).length > 0 ? expert : null,
    participants: participants.length > 0 ? participants.map(withoutNulls) : null,
    qa_blocks: qaBlocks.length > 0 ? qaBlocks.map(withoutNulls) : null,
    notes: notes.length > 0 ? notes : null,
    transcript: withoutNullsIn(transcripts.verbatim),
    redacted_transcript: withoutNullsIn(transcripts.redacted),
  });
}

/** Returns properties of a line with the values of their columns. @param fields pairs of a column and its property */
function valuesOf(
  call: ExportedCall & AllContent,
  fields: readonly (readonly [column: string, property: string, schema: unknown])[],
) {
  return Object.fromEntries(fields.map(([column, property]) => [property, (call as unknown as Record<string, unknown>)[column]]));
}

function withoutNullsIn(content: Transcript['content'] | null): string | object[] | null {
  return content === null || typeof content === 'string' ? content : content.map(withoutNulls);
}
