import { notFound, type ServiceError } from '@crs/kit/errors';
import type { FieldError } from '@crs/records/import-record';

export function noSuchOrganization(): ServiceError {
  return notFound('There is no organization with this id. "org list" shows those that exist.');
}

export function noSuchUser(): ServiceError {
  return notFound('Nobody in this organization has this e-mail. "user list" shows who does.');
}

/** Until the deletion has ended, the record isn't found, but its id or e-mail is still taken. */
export function beingDeleted(field: string): FieldError {
  return { field, reason: 'is being deleted; run its deletion again first' };
}
