/** What a caller sees of a call. */
import type { AllowedField } from '@crs/records/allowed-fields';

/** The fields of a call that its organization sees: `allowed_fields` without those that depend on a disabled field. */
export type FieldMask = ReadonlySet<AllowedField>;

/** Each field repeats a part of the other, so it is hidden with it. */
const DEPENDS_ON: [AllowedField, AllowedField][] = [
  ['participants.email', 'participants'],
  ['transcripts.clean', 'qa_blocks'],
];

/** @param allowedFields unknown paths, such as those of a newer auth, enable nothing */
export function fieldMaskOf(allowedFields: readonly string[]): FieldMask {
  const mask = new Set(allowedFields as AllowedField[]);
  for (const [field, needed] of DEPENDS_ON) if (!mask.has(needed)) mask.delete(field);
  return mask;
}

/** Whether the caller may learn that there is a transcript. */
export function showsTranscripts(mask: FieldMask): boolean {
  return mask.has('transcripts.verbatim') || mask.has('transcripts.redacted');
}

/** The transcript entries that a request includes. */
export interface Include {
  verbatim: boolean;
  redacted: boolean;
  clean: boolean;
}

export function includeOf(request: { withoutVerbatim: boolean; withoutRedacted: boolean; withoutClean: boolean }): Include {
  return { verbatim: !request.withoutVerbatim, redacted: !request.withoutRedacted, clean: !request.withoutClean };
}

/** Returns the kinds of transcripts that are both enabled and included. */
export function kindsOf({ mask, include }: { mask: FieldMask; include: Include }): Set<keyof Include> {
  return new Set((['verbatim', 'redacted', 'clean'] as const).filter((kind) => mask.has(`transcripts.${kind}`) && include[kind]));
}

/** Whether the caller sees the interviewee under another name than the recorded one. */
export function renames(mask: FieldMask, anonymize: boolean): boolean {
  return anonymize || !mask.has('interviewee.name');
}
