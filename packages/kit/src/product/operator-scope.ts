import type { Scope } from '../data/database.ts';
import { ServiceError } from '../errors.ts';
import type { CallContext } from '../rpc/server.ts';

/** The organization that the operator's token is for. @throws ServiceError where it is for none */
export function operatorScope({ identity, deadline, signal }: CallContext<'operator'>): Scope {
  if (identity.organization === undefined) {
    throw new ServiceError('permission_denied', 'This call needs an operator token for one organization.');
  }
  return { organization: identity.organization, deadline, signal };
}
