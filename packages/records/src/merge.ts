/** Merges: lines with `"merge": true`, which change properties of a stored record and keep the others. */
import { z } from 'zod';
import { parseJson, parseObject, type FieldError } from './import-record.ts';

/** A valid merge that isn't applied yet, because only its service can read the stored record. */
export interface Merge {
  deleted: false;
  organization: string;
  /** The id of the record. */
  id: string;
  /** The line itself. */
  patch: Uint8Array;
  /** The names of the line's properties. */
  properties: string[];
}

export function isMerge(record: object): record is Merge {
  return 'patch' in record;
}

/** The property `merge` of a line that isn't a merge. */
export const notMerge = z
  .literal([false, null], 'must be true or false')
  .optional()
  .describe('Not true: the line is a whole record, not a merge.');

/** The properties `merge` and `deleted` of a merge. */
export const ofMerge = {
  merge: z.literal(true).describe('The line changes properties of a stored record.'),
  deleted: z.literal([false, null], 'must not be true, because the line is a merge').optional(),
};

/**
 * Parses a line that may be a merge.
 * @param schemas.merge validates the properties of a merge, and returns the record's organization and id
 */
export function parseMergeable<S extends z.ZodType>(
  schemas: { whole: S; merge: z.ZodType<{ organization: string; id: string }> },
  line: Uint8Array,
): { record: z.output<S> | Merge } | FieldError {
  const json = parseJson(line);
  if ('reason' in json) return json;
  const { value } = json;
  if ((value as { merge?: unknown } | null)?.merge !== true) return parseObject(schemas.whole, value);
  const result = parseObject(schemas.merge, value);
  if ('reason' in result) return result;
  const { organization, id } = result.record;
  return { record: { deleted: false, organization, id, patch: line, properties: Object.keys(value as object) } };
}
