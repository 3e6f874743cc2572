/** What a caller sees of a call. */
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

/** The transcript entries that a request asks for. */
export interface Include {
  verbatim: boolean;
  redacted: boolean;
  clean: boolean;
}

/** The flags of a request that leave transcript entries out. */
interface Without {
  withoutVerbatim: boolean;
  withoutRedacted: boolean;
  withoutClean: boolean;
}

export function includeOf({ withoutVerbatim, withoutRedacted, withoutClean }: Without): Include {
  return { verbatim: !withoutVerbatim, redacted: !withoutRedacted, clean: !withoutClean };
}

/** The kinds of transcripts that a caller sees. */
export function kindsOf({ gate, include }: { gate: Gate; include: Include }): Set<keyof Include> {
  return new Set((['verbatim', 'redacted', 'clean'] as const).filter((kind) => gate.has(`transcripts.${kind}`) && include[kind]));
}

/** Whether another name stands in place of the interviewee's. */
export function renames(gate: Gate, anonymize: boolean): boolean {
  return anonymize || !gate.has('interviewee.name');
}
