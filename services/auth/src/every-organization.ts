import { everyOrganizationScope, type Scope } from '@crs/kit/data/scope';
import { ServiceError } from '@crs/kit/errors';
import type { CallContext } from '@crs/kit/rpc/server';

/** @throws ServiceError permission_denied where the operator's token is for one organization */
export function everyOrganization(call: CallContext<'operator'>): Scope {
  if (call.identity.organization === undefined) return everyOrganizationScope(call);
  throw new ServiceError('permission_denied', 'This call needs an operator token for no organization.');
}
