import { isUtf8 } from 'node:buffer';
import { ORGANIZATION_ID } from '@crs/kit/text';
import type { Service } from '../config.ts';
import type { Line } from './lines.ts';

/**
 * Who stores each type of record, and who has to know when one is deleted, in that order: a service that looks ids up in
 * another comes before it, so that running a half-done deletion again finds them still.
 * No entry for a way means that no service of this version takes it.
 */
const RECORD_TYPES = new Map<string, { storedBy?: Service; deletedBy?: Service[] }>([
  ['organization', { storedBy: 'auth' }],
  ['user', { storedBy: 'auth', deletedBy: ['calls', 'auth'] }],
  ['billing_office', {}],
  ['project', { storedBy: 'auth', deletedBy: ['calls', 'auth'] }],
  ['call', { storedBy: 'calls', deletedBy: ['calls'] }],
  ['entity', {}],
]);

/** A line that some service has to take. */
export interface RoutedLine {
  number: number;
  bytes: Buffer;
  organization: string;
  /** To be asked in this order; the first that refuses ends it. */
  services: Service[];
  /** Neighbouring lines of one group don't refer to each other: their order counts within an organization only. */
  group: string;
}

/** A line that was not stored. */
export interface Refusal {
  line: number;
  /** Dotted path; null where the line as a whole is meant. */
  field: string | null;
  /** Reads on from the field: `must be ...`. Never holds a value of the line. */
  reason: string;
}

/** Where a line belongs, or why it can't be stored; undefined for a blank line. */
export function route({ number, bytes }: Line): RoutedLine | Refusal | undefined {
  const refuse = (field: string | null, reason: string): Refusal => ({ line: number, field, reason });

  if (!bytes) return refuse(null, 'must be at most 8 MiB long');
  if (!isUtf8(bytes)) return refuse(null, 'must be valid UTF-8');
  const text = bytes.toString();
  if (/^[ \t\r]*$/.test(text)) return undefined;
  const record = parse(text);
  if (record === undefined) return refuse(null, 'must be valid JSON');
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return refuse(null, 'must be a JSON object');

  const { type, deleted } = record as Record<string, unknown>;
  if (type === undefined) return refuse('type', 'is required');
  const target = typeof type === 'string' ? RECORD_TYPES.get(type) : undefined;
  if (!target) return refuse('type', `must be one of ${[...RECORD_TYPES.keys()].join(', ')}`);
  // What can't be deleted goes where it is stored, which refuses the property.
  const services = (deleted === true && target.deletedBy) || (target.storedBy ? [target.storedBy] : []);
  if (services.length === 0) return refuse('type', 'is not stored by this version');

  const field = type === 'organization' ? 'id' : 'organization';
  const organization = (record as Record<string, unknown>)[field];
  if (organization === undefined) return refuse(field, 'is required');
  if (typeof organization !== 'string' || !ORGANIZATION_ID.test(organization)) {
    return refuse(field, 'must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"');
  }
  return { number, bytes, organization, services, group: groupOf(type as string, deleted === true, services, number) };
}

/** Answers of several services can be put together for one line only, so such a line is a group of its own. */
function groupOf(type: string, deleted: boolean, services: Service[], number: number): string {
  if (services.length > 1) return `line ${number}`;
  return deleted ? `deleted ${type}` : type;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
