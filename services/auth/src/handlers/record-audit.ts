import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { RecordAuditRequest, RecordAuditResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { requireText } from '../domain/settings.ts';
import { audit } from '../store/audit.ts';

export function recordAudit({ db }: Context) {
  return rpc(['operator'], async (request: RecordAuditRequest, call): Promise<RecordAuditResponse> => {
    const action = requireText('action', request.action, 1, 100);
    const target = requireText('target', request.target, 0, 500);
    await db.transact(callerScope(call), (query) => audit(query, call.identity, action, target));
    return {};
  });
}
