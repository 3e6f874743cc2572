/** Applies a merge to the line of a stored record. The worker thread imports this module for long lines. */
import type { WorkerTask } from '@crs/kit/process/worker';
import { MAX_LINE_BYTES, type FieldError } from './import-record.ts';

interface MergeInput {
  /** The line that an export writes of the stored record. */
  stored: Uint8Array;
  /** The line of the merge, which is valid. */
  patch: Uint8Array;
}

/** Returns the line of the whole record, for the normal parser. Properties of an object are merged one by one, and a list is replaced. */
export function run({ stored, patch }: MergeInput): { line: Uint8Array } | FieldError {
  const merged = parse(stored);
  const { merge: _, ...changes } = parse(patch);
  for (const [name, value] of Object.entries(changes)) {
    const before = merged[name];
    merged[name] = isObject(value) && isObject(before) ? { ...before, ...value } : value;
  }
  const line = Buffer.from(JSON.stringify(merged));
  return line.length > MAX_LINE_BYTES ? { field: '', reason: 'must be at most 8 MiB long after the merge' } : { line };
}

export const lineMerger: WorkerTask<MergeInput, { line: Uint8Array } | FieldError> = { url: import.meta.url, run };

function parse(line: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(line.buffer, line.byteOffset, line.length).toString()) as Record<string, unknown>;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
