import { ServiceError } from '@crs/kit/errors';
import type { OperatorRights } from '@crs/kit/rpc/operators';

/** Rights, and when they expire. */
interface ExpiringRights extends OperatorRights {
  expiresAt: Date | null;
}

/** Whether this is an admin of every organization that never expires. At least one must exist, or nobody could create operators. */
export function isPermanentAdmin({ role, organizations, expiresAt }: ExpiringRights): boolean {
  return role === 'admin' && organizations.length === 0 && expiresAt === null;
}

/** @throws ServiceError permission_denied if the new operator would reach organizations or a time that its creator doesn't */
export function requireWithinOwn(
  creator: ExpiringRights,
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

/** Whether an operator bound to `organizations` reaches no further than one with these rights. No organizations stand for all. */
export function isWithin({ organizations: own }: OperatorRights, organizations: readonly string[]): boolean {
  return own.length === 0 || (organizations.length > 0 && organizations.every((each) => own.includes(each)));
}
