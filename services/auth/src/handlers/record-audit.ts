import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { RecordAuditRequest, RecordAuditResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { requireText } from '../domain/settings.ts';
import { operatorEntry } from '../store/audit.ts';

export function recordAudit({ db }: Context) {
  return rpc({ operator: true }, async (request: RecordAuditRequest, call): Promise<RecordAuditResponse> => {
    const action = requireText('action', request.action, 1, 100);
    const target = requireText('target', request.target, 0, 500);
    await db.run(callerScope(call), operatorEntry(call.identity, action, target));
    return {};
  });
}
