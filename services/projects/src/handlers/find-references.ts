import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { RecordContext } from '@crs/records/record-service';
import type { FindReferencesRequest, FindReferencesResponse } from '@crs/proto/crs/projects/v1/admin';
import { listBillingOffices } from '../store/billing-offices.ts';

export function findReferences({ db, auth }: RecordContext) {
  const access = { action: 'import.check', roles: ['admin', 'importer'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async (request: FindReferencesRequest, call): Promise<FindReferencesResponse> => {
    const scope = callerScope(call);
    await auth.recordAudit({ action: access.action, target: '', address: call.address, counted: true }, call);
    const { emails, projectIds } = request;
    const [{ users, ...known }, rows] = await Promise.all([
      auth.resolveReferences({ emails, projectIds }, call),
      db.read(scope, listBillingOffices(scope.organization)),
    ]);
    const offices = new Set(rows.map(({ name }) => name));
    return {
      emails: users.map(({ email }) => email),
      projectIds: known.projectIds,
      billingOffices: request.billingOffices.filter((name) => offices.has(name)),
      organizationExists: known.organizationExists,
    };
  });
}
