import { REASONS, ServiceError } from '../errors.ts';
import type { OperatorIdentity } from './identity.ts';

export const OPERATOR_ROLES = ['admin', 'manager', 'importer', 'viewer', 'auditor'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The rights of an operator at the time of the call. */
export interface OperatorRights {
  role: OperatorRole;
  /** The organizations that the operator is bound to. Empty: all. */
  organizations: readonly string[];
}

/** The operators that an RPC admits, and the organizations that they may call it for. */
export interface Access {
  /** The name of the call in the audit trail, for example `key.create`. */
  action: string;
  roles: readonly OperatorRole[];
  /** The number of organizations that the operator token names. */
  token: 'one' | 'none' | 'either';
  /** Whether operators bound to organizations are admitted. If the token names no organization, the handler must restrict itself to theirs. */
  bound: boolean;
}

/** A call whose caller may not be verified yet. */
export interface IncomingCall {
  /** The caller token as received, to forward to other services. Unverified until the caller is admitted. */
  token: string | undefined;
  /** When the caller stops waiting, minus a margin for the response (epoch milliseconds). */
  deadline: number;
  /** Aborted when the caller cancels or the deadline passes. */
  signal: AbortSignal;
  /** The IP address of the caller. */
  address: string;
}

/** What listeners need from auth about operators. */
export interface OperatorDirectory {
  /** @throws ServiceError unauthenticated if the operator was revoked or has expired */
  rightsOf(identity: OperatorIdentity, call: IncomingCall): Promise<OperatorRights>;
  /** Records in the audit trail that a call was refused. */
  refused(call: RefusedCall): Promise<void>;
}

/** A refused call to an RPC for operators, whoever made it. */
export interface RefusedCall extends Pick<IncomingCall, 'token' | 'address'> {
  action: string;
  /** The kind of the error. */
  outcome: string;
}

/** @param organization the one that the operator token names, if any @throws ServiceError permission_denied if the rights don't suffice */
export function checkAccess({ roles, token, bound }: Access, rights: OperatorRights, organization: string | undefined): void {
  if (!roles.includes(rights.role)) {
    throw denied(`The role ${rights.role} may not do this. It needs ${roles.join(' or ')}.`, REASONS.operatorRole);
  }
  if (token === 'one' && organization === undefined) throw denied('This call needs an operator token for one organization.');
  if (token === 'none' && organization !== undefined) throw denied('This call needs an operator token for no organization.');
  if (rights.organizations.length === 0) return;
  if (!bound) throw denied('An operator that is bound to organizations may not do this.', REASONS.operatorBound);
  if (organization !== undefined) requireBound(rights, organization);
}

/** @throws ServiceError permission_denied if the operator is bound to other organizations */
export function requireBound({ organizations }: OperatorRights, organization: string): void {
  if (organizations.length > 0 && !organizations.includes(organization)) {
    throw denied(`This operator is bound to other organizations: ${organizations.join(', ')}.`, REASONS.operatorBound);
  }
}

/** @throws ServiceError permission_denied if the role may delete only within an organization */
export function requireTenantDeletion({ role }: OperatorRights): void {
  if (role === 'importer') {
    throw denied('The role importer may not delete an organization. It needs admin or manager.', REASONS.operatorRole);
  }
}

function denied(message: string, reason?: string): ServiceError {
  return new ServiceError('permission_denied', message, { reason });
}
