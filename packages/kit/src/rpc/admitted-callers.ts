import { REASONS, ServiceError } from '../errors.ts';
import type { OAuthScope } from './scopes.ts';
import type { Access } from './operators.ts';
import type { KeyRight } from './key-rights.ts';
import type { Identity, IndependentProgram, OrganizationIdentity, UserIdentity, Verifier } from './identity.ts';

/** What an API key needs. */
export interface KeyAccess {
  /** One of these rights suffices. */
  rights: readonly [KeyRight, ...KeyRight[]];
  /** True: its organization must be enabled for the write surface. */
  writeSurface?: true;
}

/** The independent program that an RPC admits. */
export interface ProgramAccess {
  name: IndependentProgram;
  /** Whether its token must name an organization. With another value, the RPC refuses it. */
  token: 'one' | 'none';
}

/** The callers that an RPC admits, by kind of identity, with the rights that they need. */
interface Callers {
  organization?: KeyAccess;
  /** One of these scopes suffices. */
  user?: readonly [OAuthScope, ...OAuthScope[]];
  operator?: Access;
  program?: ProgramAccess;
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
      break;
    case 'program':
      if (callers.program?.name !== identity.program) throw notFor(`the program ${identity.program}`);
      if ((callers.program.token === 'one') !== (identity.organization !== undefined))
        throw new ServiceError('permission_denied', `This call needs a program token for ${callers.program.token} organization.`);
  }
  return identity;
}

function notFor(callers: string): ServiceError {
  return new ServiceError('permission_denied', `This call is not for ${callers}.`);
}

function requireRight(needed: KeyAccess, { writeSurface, rights }: OrganizationIdentity): void {
  if (needed.writeSurface && !writeSurface) throw insufficient('The organization is not enabled for the write surface.');
  if (!needed.rights.some((right) => rights.includes(right)))
    throw insufficient(`The key needs the right ${needed.rights.join(' or ')}.`);
}

function requireScope(needed: readonly OAuthScope[], { scopes }: UserIdentity): void {
  if (needed.some((scope) => scopes.includes(scope))) return;
  throw insufficient(`This call needs the scope ${needed.join(' or ')}.`);
}

function insufficient(message: string): ServiceError {
  return new ServiceError('permission_denied', message, { reason: REASONS.insufficientScope });
}
