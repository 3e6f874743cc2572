import { REASONS, ServiceError } from '../errors.ts';
import type { OAuthScope } from './scopes.ts';
import type { Access } from './operators.ts';
import type { Identity, OrganizationIdentity, UserIdentity, Verifier } from './identity.ts';

/** The right that an API key needs. `write surface`: its organization is enabled for the write surface. `write`: also, the key isn't read-only. */
export type KeyRight = 'read' | 'write surface' | 'write';

/** The callers that an RPC admits, by kind of identity, with the rights that they need. */
interface Callers {
  organization?: KeyRight;
  /** One of these scopes suffices. */
  user?: readonly [OAuthScope, ...OAuthScope[]];
  operator?: Access;
}

/** The callers that an RPC admits: one or more kinds of caller, or `anyone` if the request itself holds the credential. */
export type AdmittedCallers =
  { anyone: true } | (Callers & { [K in keyof Callers]-?: Required<Pick<Callers, K>> }[keyof Callers]);

/**
 * Returns the identity of an admitted caller; undefined for `anyone`. An operator's role is checked later, by `checkAccess`.
 * @throws ServiceError unauthenticated without a valid token, permission_denied for a caller that the RPC doesn't admit
 */
export async function admit(
  callers: AdmittedCallers,
  token: string | undefined,
  verify: Verifier,
): Promise<Identity | undefined> {
  if ('anyone' in callers) return undefined;
  if (!token) throw new ServiceError('unauthenticated', 'The call carries no caller token.');
  const identity = await verify(token);
  switch (identity.kind) {
    case 'organization':
      if (callers.organization) requireRight(callers.organization, identity);
      else throw notFor('organizations');
      break;
    case 'user':
      if (callers.user) requireScope(callers.user, identity);
      else throw notFor('users');
      break;
    case 'operator':
      if (!callers.operator) throw notFor('operators');
  }
  return identity;
}

function notFor(callers: string): ServiceError {
  return new ServiceError('permission_denied', `This call is not for ${callers}.`);
}

function requireRight(needed: KeyRight, { writeSurface, readOnly }: OrganizationIdentity): void {
  if (needed === 'read') return;
  if (!writeSurface) throw insufficient('The organization is not enabled for the write surface.');
  if (needed === 'write' && readOnly) throw insufficient('The key may only read.');
}

function requireScope(needed: readonly OAuthScope[], { scopes }: UserIdentity): void {
  if (needed.some((scope) => scopes.includes(scope))) return;
  throw insufficient(`This call needs the scope ${needed.join(' or ')}.`);
}

function insufficient(message: string): ServiceError {
  return new ServiceError('permission_denied', message, { reason: REASONS.insufficientScope });
}
