import type { Scope } from '@crs/kit/data/database';
import { ServiceError } from '@crs/kit/errors';
import type { CallContext } from '@crs/kit/rpc/server';
import { ABOVE_TENANTS } from '../store/audit.ts';

/** The scope above tenants. @throws ServiceError where the token is for one organization */
export function aboveTenantsScope({ identity, deadline, signal }: CallContext<'operator'>): Scope {
  if (identity.organization !== undefined) {
    throw new ServiceError('permission_denied', 'This call needs an operator token for no organization.');
  }
  return { organization: ABOVE_TENANTS, deadline, signal };
}
