/** Reads what routes an import line to the service that stores it. The worker thread imports this module for long lines. */
import type { LineReader } from './import-batch.ts';
import { parseJson } from './import-record.ts';

/** The properties of a line by which it is routed, not yet validated, and the names of all its properties. */
export interface LineEnvelope {
  type: unknown;
  organization: unknown;
  id: unknown;
  email: unknown;
  name: unknown;
  deleted: unknown;
  names: string[];
}

export const readEnvelope: LineReader<LineEnvelope>['run'] = (json) => {
  const result = parseJson(json);
  if ('reason' in result) return result;
  const { value } = result;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { field: '', reason: 'must be a JSON object' };
  const { type, organization, id, email, name, deleted } = value as Record<string, unknown>;
  return { record: { type, organization, id, email, name, deleted, names: Object.keys(value) } };
};

export { readEnvelope as run };
export const envelopeReader: LineReader<LineEnvelope> = { url: import.meta.url, run: readEnvelope };

/** Whether a line is blank: blank lines are skipped, but counted. */
export function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === SPACE || byte === TAB || byte === CR);
}

const [SPACE, TAB, CR] = Buffer.from(' \t\r');
