import { REASONS, ServiceError } from '../errors.ts';
import type { OperatorIdentity } from './identity.ts';

export const OPERATOR_ROLES = ['admin', 'manager', 'importer', 'viewer', 'auditor'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The rights of an operator, as auth knows them at the time of the call. */
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
  /** Whether it admits operators that are bound to organizations. If the token names none of these, the handler has to keep to them. */
  bound: boolean;
}

/** A call, whose caller may not be known yet. */
export interface IncomingCall {
  /** The caller token as it came, for calls to other services; it may be invalid until the caller is admitted. */
  token: string | undefined;
  /** When the caller stops waiting, less a margin for the way of the answer (epoch milliseconds). */
  deadline: number;
  /** Aborted when the caller is gone or the deadline has passed. */
  signal: AbortSignal;
  /** The IP address of the caller. */
  address: string;
}

/** Auth, as the listeners of a service ask it about operators. */
export interface OperatorDirectory {
  /** @throws ServiceError unauthenticated where the operator was revoked or has expired */
  rightsOf(identity: OperatorIdentity, call: IncomingCall): Promise<OperatorRights>;
  /** Records in the audit trail that a call was refused. */
  refused(refusal: Refusal): Promise<void>;
}

/** A refused call of an operator, or of somebody who isn't one. */
export interface Refusal extends Pick<IncomingCall, 'token' | 'address'> {
  action: string;
  /** The kind of the error. */
  outcome: string;
}

/** @throws ServiceError permission_denied where the rights don't suffice for a call whose token names this organization */
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

/** @throws ServiceError permission_denied where the operator is bound to other organizations */
export function requireBound({ organizations }: OperatorRights, organization: string): void {
  if (organizations.length > 0 && !organizations.includes(organization)) {
    throw denied(`This operator is bound to other organizations: ${organizations.join(', ')}.`, REASONS.operatorBound);
  }
}

/** @throws ServiceError permission_denied where the role admits deletions within an organization only */
export function requireTenantDeletion({ role }: OperatorRights): void {
  if (role === 'importer') {
    throw new ServiceError('permission_denied', 'The role importer may not delete an organization. It needs admin or manager.', {
      reason: REASONS.operatorRole,
    });
  }
}

function denied(message: string, reason?: string): ServiceError {
  return new ServiceError('permission_denied', message, { reason });
}
