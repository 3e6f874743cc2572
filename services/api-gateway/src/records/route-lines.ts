import { timeSlices } from '@crs/kit/process/event-loop';
import { runInWorker } from '@crs/kit/process/worker';
import { MAX_INLINE_BYTES } from '@crs/records/import-batch';
import { MAX_LINE_BYTES, type FieldError } from '@crs/records/import-record';
import { envelopeReader, type LineEnvelope } from '@crs/records/line-envelope';
import type { Line } from './split-lines.ts';

export const RECORD_TYPES = ['call', 'entity', 'project', 'billing_office', 'user'] as const;
export type RecordType = (typeof RECORD_TYPES)[number];

/** A line that a service may store. */
export interface RoutedLine {
  number: number;
  type: RecordType;
  envelope: LineEnvelope;
  /** The line as the client sent it. Its `organization` may be absent. */
  bytes: Buffer;
}

/** A line that was not stored, as `crs import --json` reports it. */
export interface LineError {
  line: number;
  /** Null: the whole line. */
  field: string | null;
  reason: string;
}

export function toLineError(line: number, { field, reason }: FieldError): LineError {
  return { line, field: field || null, reason };
}

/** Finds the type of each line, and refuses the lines that belong to no service or to another organization. */
export async function routeLines(
  lines: Line[],
  organization: string,
  signal: AbortSignal,
): Promise<{ routed: RoutedLine[]; errors: LineError[] }> {
  const routed: RoutedLine[] = [];
  const errors: LineError[] = [];
  const yieldWhenDue = timeSlices();
  for (const { number, bytes } of lines) {
    await yieldWhenDue();
    signal.throwIfAborted();
    const result = await readEnvelope(bytes);
    const problem = 'record' in result ? findProblem(result.record, organization) : result;
    if (problem) errors.push(toLineError(number, problem));
    else if ('record' in result) routed.push({ number, type: result.record.type as RecordType, envelope: result.record, bytes });
  }
  return { routed, errors };
}

/** Reads a line of any length, a long one in the worker thread. */
export function readEnvelope(
  bytes: Buffer,
): Promise<{ record: LineEnvelope } | FieldError> | ReturnType<typeof envelopeReader.run> {
  if (bytes.length > MAX_LINE_BYTES) return { field: '', reason: 'must be at most 8 MiB long' };
  if (bytes.length <= MAX_INLINE_BYTES) return envelopeReader.run(bytes);
  // A copy: the whole body, of which the line is a view, would be sent to the thread.
  return runInWorker(envelopeReader, new Uint8Array(bytes));
}

function findProblem({ type, organization: given }: LineEnvelope, organization: string): FieldError | undefined {
  if (!RECORD_TYPES.includes(type as RecordType)) {
    return { field: 'type', reason: `${type === undefined ? 'is required: ' : 'must be '}one of ${RECORD_TYPES.join(', ')}` };
  }
  if (given === undefined || given === organization) return undefined;
  return { field: 'organization', reason: "must be the key's organization, or absent" };
}

/** Returns a line with its organization, which services require, in parts. */
export function withOrganization({ bytes, envelope }: RoutedLine, organization: string): Buffer[] {
  return envelope.organization === undefined ? withProperties(bytes, { organization }) : [bytes];
}

/** Inserts properties at the beginning of a JSON object that has others. Returns it in parts, which aren't copies. */
export function withProperties(object: Buffer, properties: object): Buffer[] {
  const inserted = JSON.stringify(properties).slice(0, -1);
  return [Buffer.from(`${inserted},`), object.subarray(object.indexOf('{') + 1)];
}
