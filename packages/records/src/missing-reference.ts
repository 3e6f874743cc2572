import type { FieldError } from './import-record.ts';

const REASONS = {
  organization: 'must be an organization that exists',
  user: 'must be the e-mail of a user of this organization',
  project: 'must be a project of this organization',
  billing_office: 'must be a billing office of this organization',
} as const;

/** The types of records that import lines refer to. */
export type ReferenceType = keyof typeof REASONS;

/** Refuses a line whose field names a record that doesn't exist. */
export function missing(type: ReferenceType, field: string): FieldError {
  return { field, reason: REASONS[type] };
}
