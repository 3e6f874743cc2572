import { ServiceError } from '../errors.ts';
import { ORGANIZATION_ID } from '../text.ts';

declare const made: unique symbol;

/** Until when the database works for a request. */
export interface Work {
  /** Epoch milliseconds. */
  deadline: number;
  /** Ends the work early. */
  signal?: AbortSignal | undefined;
}

/**
 * The rows that a transaction may see, and its end. Only the four functions of this file make a scope, so their names tell at each call how much
 * power the code takes.
 */
export interface Scope extends Work {
  /** Set for row-level security: an organization's id, `''` for none, `'*'` for all. */
  organization: string;
  readonly [made]: true;
}

/** The scope's organization where it stands for all of them; no organization has this id. */
export const EVERY_ORGANIZATION = '*';

/** Work that no request waits for, with so many milliseconds. */
export function workFor(ms: number): Work {
  return { deadline: Date.now() + ms };
}

/** No organization: only the tables that no organization owns, such as the directory of keys. */
export function directoryScope(work: Work): Scope {
  return scope('', work);
}

/**
 * The organization of the caller's token, be it a key's, a user's or an operator's.
 * @throws ServiceError permission_denied where an operator's token names no organization
 */
export function callerScope(call: Work & { identity: { organization?: string } }): Scope {
  const { organization } = call.identity;
  if (organization === undefined) {
    throw new ServiceError('permission_denied', 'This call needs an operator token for one organization.');
  }
  return scope(organization, call);
}

/** The organization that a key, a token or a person who signs in names, while auth checks that credential and afterwards. */
export function credentialScope(organization: string, work: Work): Scope {
  if (!ORGANIZATION_ID.test(organization)) throw new Error('A credential names one organization.');
  return scope(organization, work);
}

/**
 * Every organization: by policies on two tables alone, it reads all organizations and the whole audit trail, and adds to the trail what belongs to no
 * organization. It may delete entries of the trail that are older than 90 days.
 */
export function everyOrganizationScope(work: Work): Scope {
  return scope(EVERY_ORGANIZATION, work);
}

function scope(organization: string, { deadline, signal }: Work): Scope {
  return { organization, deadline, signal } as Scope;
}
