import { ServiceError } from '../errors.ts';
import { ORGANIZATION_ID } from '../text.ts';

declare const made: unique symbol;

/** How long work is useful: until its deadline, or until nobody waits for it. */
export interface Work {
  /** Epoch milliseconds. */
  deadline: number;
  signal?: AbortSignal | undefined;
}

/**
 * The rows that a transaction may see, and its deadline. Only the five functions of this file create scopes, so each use shows how much access the code
 * takes.
 */
export interface Scope extends Work {
  /** Set for row-level security: an organization's id, `''` for none, `'*'` for all. */
  organization: string;
  readonly [made]: true;
}

/** Stands for all organizations. No organization can have this id. */
export const EVERY_ORGANIZATION = '*';

/** Work outside a request, with a timeout. */
export function workFor(ms: number): Work {
  return { deadline: Date.now() + ms };
}

/** No organization: sees only the tables that belong to none, such as the directory of keys. */
export function directoryScope(work: Work): Scope {
  return scope('', work);
}

/**
 * The organization of the caller's token, whether a key's, a user's or an operator's.
 * @throws ServiceError permission_denied if an operator's token names no organization
 */
export function callerScope(call: Work & { identity: { organization?: string } }): Scope {
  const { organization } = call.identity;
  if (organization === undefined) {
    throw new ServiceError('permission_denied', 'This call needs an operator token for one organization.');
  }
  return scope(organization, call);
}

/** The organization that a credential names, for auth while it checks the credential and afterwards. */
export function credentialScope(organization: string, work: Work): Scope {
  if (!ORGANIZATION_ID.test(organization)) throw new Error('A credential names one organization.');
  return scope(organization, work);
}

/** The organization of a webhook endpoint that is due, for the sender. */
export function endpointScope(organization: string, work: Work): Scope {
  if (!ORGANIZATION_ID.test(organization)) throw new Error('An endpoint belongs to one organization.');
  return scope(organization, work);
}

/**
 * All organizations. Policies on two tables use it: it can read all organizations and the whole audit trail, add entries that belong to no organization
 * to the trail, and delete entries older than 90 days.
 */
export function everyOrganizationScope(work: Work): Scope {
  return scope(EVERY_ORGANIZATION, work);
}

function scope(organization: string, { deadline, signal }: Work): Scope {
  return { organization, deadline, signal } as Scope;
}
