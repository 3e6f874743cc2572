// The form in which an export writes a call, for tests of merges.

import { derivedId } from '../src/domain/call-record.ts';

export type Properties = Record<string, unknown>;

/** Drops nulls and empty lists, which mean the same as absent properties, and fills in defaults, in the order of their names. */
export function normalize(line: Properties): Properties {
  const blocks = (line['qa_blocks'] ?? []) as Properties[];
  const notes = (line['notes'] ?? []) as Properties[];
  const whole: Properties = {
    ...line,
    call_type: line['call_type'] ?? 'interview',
    expert: withoutNulls(line['expert'] ?? {}),
    participants: ((line['participants'] ?? []) as object[]).map(withoutNulls),
    qa_blocks: blocks.map((block, i) =>
      withoutNulls({ id: derivedId(String(line['organization']), String(line['id']), i), ...block }),
    ),
    notes: notes.toSorted((a, b) => (String(a['email']) < String(b['email']) ? -1 : 1)),
    transcript: contentOf(line['transcript']),
    redacted_transcript: contentOf(line['redacted_transcript']),
  };
  const present = Object.entries(whole).filter(([, value]) => value !== null && !(typeof value === 'object' && isEmpty(value)));
  return Object.fromEntries(present.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function contentOf(content: unknown): unknown {
  return Array.isArray(content) ? content.map(withoutNulls) : (content ?? null);
}

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null));
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
