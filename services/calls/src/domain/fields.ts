import type { AllowedField } from '@crs/records/allowed-fields';

/** The fields of a call that its organization sees: `allowed_fields`, with every implication applied. */
export type Gate = ReadonlySet<AllowedField>;

/** Each repeats a part of another field, so it shows nothing without that field. */
const NEEDS: [AllowedField, AllowedField][] = [
  ['participants.email', 'participants'],
  ['transcripts.clean', 'qa_blocks'],
];

/** A path that this service doesn't know opens nothing: auth may be newer. */
export function gateOf(allowedFields: readonly string[]): Gate {
  const gate = new Set(allowedFields as AllowedField[]);
  for (const [field, needed] of NEEDS) if (!gate.has(needed)) gate.delete(field);
  return gate;
}

/** Whether there is a transcript is said only to those who may see one. */
export function showsTranscripts(gate: Gate): boolean {
  return gate.has('transcripts.verbatim') || gate.has('transcripts.redacted');
}
