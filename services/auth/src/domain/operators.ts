import { randomBytes } from 'node:crypto';
import { ServiceError } from '@crs/kit/errors';
import type { OperatorRights } from '@crs/kit/rpc/operators';

/** An operator's rights, and their end. */
interface Holder extends OperatorRights {
  expiresAt: Date | null;
}

export function lives({ expiresAt }: Holder): boolean {
  return expiresAt === null || expiresAt > new Date();
}

/** An admin of every organization who never expires: somebody has to be able to make operators. */
export function isPermanentAdmin({ role, organizations, expiresAt }: Holder): boolean {
  return role === 'admin' && organizations.length === 0 && expiresAt === null;
}

/** @throws ServiceError permission_denied for a right that an operator would have and its creator, an admin, doesn't */
export function requireWithinOwn(
  creator: Holder,
  { organizations, expiresInSeconds }: { organizations: readonly string[]; expiresInSeconds: number },
): void {
  if (!isWithin(creator, organizations)) {
    throw beyondOwn('organizations', `must be some of your own: ${creator.organizations.join(', ')}`);
  }
  const { expiresAt } = creator;
  if (expiresAt && (expiresInSeconds === 0 || Date.now() + expiresInSeconds * 1_000 > expiresAt.getTime())) {
    throw beyondOwn('expires_in', `must end before your own end, ${expiresAt.toISOString()}`);
  }
}

function beyondOwn(field: string, reason: string): ServiceError {
  return new ServiceError('permission_denied', `${field}: ${reason}`, { field });
}

/** Whether an operator that is bound to these organizations reaches no further than this one. */
export function isWithin({ organizations: own }: OperatorRights, organizations: readonly string[]): boolean {
  return own.length === 0 || (organizations.length > 0 && organizations.every((each) => own.includes(each)));
}

/** A new operator credential: `cro_` and 256 random bits. */
export function createOperatorCredential(): string {
  return `cro_${randomBytes(32).toString('base64url')}`;
}
