import { callerScope, EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { everyOrganization } from '../../every-organization.ts';
import { listAudit as list } from '../../store/audit.ts';
import { operatorRpc } from './operator-rpc.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

export const listAudit = operatorRpc<'listAudit'>(
  (call) => (call.identity.organization === undefined ? everyOrganization(call) : callerScope(call)),
  async (request, { db, scope }) => {
    if (request.limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const rows = await db.read(scope, list(scope.organization, request.limit || DEFAULT_LIMIT));
    return {
      entries: rows.map(({ organization, ...entry }) => ({
        ...entry,
        organizationId: organization === EVERY_ORGANIZATION ? '' : organization,
      })),
    };
  },
);
