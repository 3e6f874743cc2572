import { ServiceError } from '@crs/kit/errors';
import type { Access } from '@crs/kit/rpc/operators';
import type { CallContext } from '@crs/kit/rpc/server';
import type { RecordContext } from '@crs/records/record-service';

/** Only those who may read all contents may look for people. */
export const ADMIN = (action: string) => ({ action, roles: ['admin'], token: 'one', bound: true }) as const satisfies Access;

/** The ledger has digests in place of people. */
export const AUDITOR = (action: string) =>
  ({ action, roles: ['admin', 'auditor'], token: 'one', bound: true }) as const satisfies Access;

/** Records a request in the audit trail, never the person. The many requests of one command share an entry. @param target the id of the erasure, if any */
export async function audited(
  { auth }: Pick<RecordContext, 'auth'>,
  call: CallContext<'operator'>,
  action: string,
  target: string,
): Promise<void> {
  await auth.recordAudit({ action, target, address: call.address, counted: true }, call);
}

/** Run it under the import lock, which the deletion of an organization takes too. @throws ServiceError not_found if the organization doesn't exist */
export async function requireOrganization({ auth }: Pick<RecordContext, 'auth'>, call: CallContext<'operator'>): Promise<void> {
  const { organizationExists } = await auth.resolveReferences({ emails: [], projectIds: [] }, call);
  if (!organizationExists) throw new ServiceError('not_found', 'There is no organization with this id.');
}
