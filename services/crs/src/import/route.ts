import { ORGANIZATION_ID } from '@crs/kit/text';
import { isBlank, readEnvelope } from '@crs/records/line-envelope';
import type { Service } from '../config.ts';
import type { Line } from './lines.ts';

/** The target of a line: the service that owns the record, or a deletion across services. */
export type Taker = Service | 'erasure';

/**
 * For each type of record, the service that stores it and the target that deletes it. In the order of an export, in which records refer only to earlier
 * ones. A type without `deletedBy` can't be deleted by an import.
 */
export const RECORD_TYPES = new Map<string, { storedBy: Service; deletedBy?: Taker }>([
  ['organization', { storedBy: 'auth' }],
  ['user', { storedBy: 'auth', deletedBy: 'erasure' }],
  ['billing_office', { storedBy: 'projects' }],
  ['project', { storedBy: 'projects', deletedBy: 'erasure' }],
  ['call', { storedBy: 'calls', deletedBy: 'calls' }],
  ['entity', { storedBy: 'entities', deletedBy: 'entities' }],
]);

/** A line and its target. */
export interface RoutedLine {
  number: number;
  bytes: Buffer;
  organization: string;
  /** The record's id or e-mail. Empty for billing offices, which have neither: one office can take the default from another. */
  id: string;
  service: Taker;
  /** Adjacent lines of one group don't refer to each other, so only the order within an organization matters. */
  group: string;
}

/** A line that was not stored. */
export interface RefusedLine {
  line: number;
  /** Dotted path. Null: the reason concerns the whole line. */
  field: string | null;
  /** Continues after the field: `must be ...`. Never contains a value of the line. */
  reason: string;
}

/** The organizations and types that the lines of a file may have. Absent: all. */
export interface Confines {
  organization?: string | undefined;
  types?: readonly string[] | undefined;
}

/** Finds the target of a line, or refuses the line. @returns undefined for a blank line */
export function route({ number, bytes }: Line, confines: Confines = {}): RoutedLine | RefusedLine | undefined {
  const refuse = (field: string | null, reason: string): RefusedLine => ({ line: number, field, reason });

  if (!bytes) return refuse(null, 'must be at most 8 MiB long');
  if (isBlank(bytes)) return undefined;
  const result = readEnvelope(bytes);
  if ('reason' in result) return refuse(null, result.reason);

  const { record } = result;
  const { type, deleted, id, email } = record;
  const target = typeof type === 'string' ? RECORD_TYPES.get(type) : undefined;
  if (!target || typeof type !== 'string') {
    return refuse('type', `${type === undefined ? 'is required: ' : 'must be '}one of ${[...RECORD_TYPES.keys()].join(', ')}`);
  }
  if (confines.types && !confines.types.includes(type)) return refuse('type', 'must be one of the types that --types names');
  const service = deleted === true ? target.deletedBy : target.storedBy;
  if (!service)
    return refuse(
      'deleted',
      type === 'organization' ? 'is not possible by import; use "crs org delete"' : 'is not possible for this type',
    );

  const field = type === 'organization' ? 'id' : 'organization';
  const organization = record[field];
  if (organization === undefined) return refuse(field, 'is required');
  if (typeof organization !== 'string' || !ORGANIZATION_ID.test(organization)) {
    return refuse(field, 'must be 1 to 40 of a-z, 0-9 and "-", not starting with "-"');
  }
  if (confines.organization !== undefined && organization !== confines.organization) {
    return refuse(field, 'must be the organization that --org names');
  }
  const key = id ?? email;
  return {
    number,
    bytes,
    organization,
    id: typeof key === 'string' ? key : '',
    service,
    group: deleted === true ? `deleted ${type}` : type,
  };
}
