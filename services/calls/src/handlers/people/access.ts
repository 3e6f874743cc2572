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
