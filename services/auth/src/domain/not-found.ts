import { notFound, type ServiceError } from '@crs/kit/errors';

export function noSuchOrganization(): ServiceError {
  return notFound('There is no organization with this id. "org list" shows those that exist.');
}

export function noSuchUser(): ServiceError {
  return notFound('Nobody in this organization has this e-mail. "user list" shows who does.');
}

export function noSuchProject(): ServiceError {
  return notFound('There is no project with this id in this organization.');
}
