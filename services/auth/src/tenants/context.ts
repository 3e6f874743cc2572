import type { Query } from '@crs/kit/data/database';
import { ServiceError } from '@crs/kit/errors';
import type { OperatorRights } from '@crs/kit/rpc/operators';
import type { SettingChanges } from '../domain/settings.ts';
import type { Encrypters } from '../keys/encrypters.ts';

/** A change of an organization, or of one of its keys, SCIM tokens, group maps or users. */
export interface Change {
  action: 'add' | 'change' | 'remove';
  type: 'organization' | 'key' | 'scim_token' | 'group_map' | 'user';
  /** For people. */
  name: string;
  settings: SettingChanges;
}

/** A part of the desired state that waits for something. */
export interface Note {
  /** Path in the state. */
  field: string;
  message: string;
}

/** The transaction that applies a desired state, and what it has changed so far. */
export interface Application {
  organization: string;
  rights: OperatorRights;
  encrypters: Encrypters;
  query: Query;
  /** Writes an entry of the operator's action to the audit trail, as the command for a single change does. */
  audit: (action: string, target: string, changes?: SettingChanges) => Promise<unknown>;
  /** Whether to remove what the state's lists lack. */
  prune: boolean;
  changes: Change[];
  notes: Note[];
}

/** @param reason continues the sentence that starts with the field */
export function refused(field: string, reason: string): ServiceError {
  return new ServiceError('failed_precondition', `${field}: ${reason}`, { field });
}

/** The settings of a new object, without those that are null. */
export function toAdded(view: Record<string, unknown>): SettingChanges {
  const given = Object.entries(view).filter(([, to]) => to !== null);
  return Object.fromEntries(given.map(([setting, to]) => [setting, { from: null, to }]));
}
