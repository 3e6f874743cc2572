import { randomBytes } from 'node:crypto';
import type { OperatorRights } from '@crs/kit/rpc/operators';
import type { Problem } from '@crs/records/import-record';

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

/** The first right that an operator would have and its creator, an admin, doesn't. */
export function beyondOwn(
  creator: Holder,
  { organizations, expiresInSeconds }: { organizations: readonly string[]; expiresInSeconds: number },
): Problem | undefined {
  if (!isWithin(creator, organizations)) {
    return { field: 'organizations', reason: `must be some of your own: ${creator.organizations.join(', ')}` };
  }
  const { expiresAt } = creator;
  if (expiresAt && (expiresInSeconds === 0 || Date.now() + expiresInSeconds * 1_000 > expiresAt.getTime())) {
    return { field: 'expires_in', reason: `must end before your own end, ${expiresAt.toISOString()}` };
  }
  return undefined;
}

/** Whether an operator that is bound to these organizations reaches no further than this one. */
export function isWithin({ organizations: own }: OperatorRights, organizations: readonly string[]): boolean {
  return own.length === 0 || (organizations.length > 0 && organizations.every((each) => own.includes(each)));
}

/** A new operator credential: `cro_` and 256 random bits. */
export function createOperatorCredential(): string {
  return `cro_${randomBytes(32).toString('base64url')}`;
}
