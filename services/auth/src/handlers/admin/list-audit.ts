import { callerScope, EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { ListAuditRequest, ListAuditResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listAudit as list } from '../../store/audit.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

export function listAudit({ db }: Context) {
  return rpc(['operator'], async (request: ListAuditRequest, call): Promise<ListAuditResponse> => {
    if (request.limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const scope = call.identity.organization === undefined ? everyOrganization(call) : callerScope(call);
    const rows = await db.read(scope, list(scope.organization, request.limit || DEFAULT_LIMIT));
    return {
      entries: rows.map(({ organization, ...entry }) => ({
        ...entry,
        organizationId: organization === EVERY_ORGANIZATION ? '' : organization,
      })),
    };
  });
}
