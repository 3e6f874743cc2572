import { callerScope } from '@crs/kit/data/scope';
import { OPERATOR_ROLES } from '@crs/kit/rpc/operators';
import { rpc } from '@crs/kit/rpc/server';
import type { RecordAuditRequest, RecordAuditResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { requireText } from '../domain/settings.ts';
import { countOperatorAction } from '../count-action.ts';
import { operatorEntry } from '../store/audit.ts';

/** Only the services call this, for the operators whom they admit themselves. */
export function recordAudit({ db }: Context) {
  return rpc(
    { operator: { action: 'audit.record', roles: OPERATOR_ROLES, token: 'one', bound: true } },
    async (request: RecordAuditRequest, call): Promise<RecordAuditResponse> => {
      const action = requireText('action', request.action, 1, 100);
      const target = requireText('target', request.target, 0, 500);
      const address = requireText('address', request.address, 0, 45);
      const scope = callerScope(call);
      if (request.counted) await countOperatorAction(db, call.identity, { action, target, address });
      else await db.run(scope, operatorEntry(call.identity, action, target, { address }));
      return {};
    },
  );
}
