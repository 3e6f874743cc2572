import { withoutNulls } from '@crs/kit/product/export';
import { MAX_LINE_BYTES } from '@crs/kit/product/import-record';
import { fold } from '@crs/kit/text';
import { derivedId, EXPERT_FIELDS, LINE_FIELDS } from './call-record.ts';
import type { Transcript } from './call.ts';
import type { Call } from './columns.ts';

/** A stored call with the ids of the users whom it names. */
export interface ExportedCall extends Omit<Call, 'updatedAt'> {
  conductedBy: string | null;
  notes: { userId: string; text: string }[];
}

/**
 * The line that an import makes the call of. If it would be too long for an import, it leaves out what an import makes by itself.
 * @param emails e-mails by user id; a user who isn't there is being deleted
 */
export function exportLine(organization: string, call: ExportedCall, emails: Map<string, string>): object {
  const line = lineOf(organization, call, emails);
  if (Buffer.byteLength(JSON.stringify(line)) <= MAX_LINE_BYTES) return line;
  const qaBlocks = call.qaBlocks.map(({ id, ...block }, i) =>
    withoutNulls({ id: id === derivedId(organization, call.callId, i) ? null : id, ...block }),
  );
  return withoutNulls({
    ...line,
    call_type: call.callType === 'interview' ? null : call.callType,
    qa_blocks: qaBlocks.length > 0 ? qaBlocks : null,
  });
}

function lineOf(organization: string, call: ExportedCall, emails: Map<string, string>): object {
  const expert = withoutNulls(valuesOf(call, EXPERT_FIELDS));
  const notes = call.notes.flatMap(({ userId, text }) => {
    const email = emails.get(userId);
    return email === undefined ? [] : { email, text };
  });
  // Users have other ids elsewhere, so the order of ids says nothing.
  notes.sort((a, b) => (fold(a.email) < fold(b.email) ? -1 : 1));
  return withoutNulls({
    type: 'call',
    organization,
    id: call.callId,
    ...valuesOf(call, LINE_FIELDS),
    created_at: call.createdAt,
    conducted_by: (call.conductedBy && emails.get(call.conductedBy)) ?? null,
    expert: Object.keys(expert).length > 0 ? expert : null,
    participants: call.participants.length > 0 ? call.participants.map(withoutNulls) : null,
    qa_blocks: call.qaBlocks.length > 0 ? call.qaBlocks.map(withoutNulls) : null,
    notes: notes.length > 0 ? notes : null,
    transcript: contentOf(call.transcripts, 'verbatim'),
    redacted_transcript: contentOf(call.transcripts, 'redacted'),
  });
}

/** The values of the columns, by the properties of the line that fill them. */
function valuesOf(call: ExportedCall, fields: readonly (readonly [column: string, property: string, schema: unknown])[]) {
  return Object.fromEntries(fields.map(([name, property]) => [property, (call as unknown as Record<string, unknown>)[name]]));
}

function contentOf(transcripts: Transcript[], wanted: Transcript['kind']): string | object[] | null {
  const found = transcripts.find(({ kind }) => kind === wanted);
  if (!found) return null;
  if (found.segments.length === 0) return found.text;
  return found.segments.map(({ speaker, startSeconds, text }) => withoutNulls({ speaker, start_seconds: startSeconds, text }));
}
