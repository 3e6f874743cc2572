import { callerScope } from '@crs/kit/data/scope';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { rpc } from '@crs/kit/rpc/server';
import type { ErasureTarget } from '@crs/proto/crs/auth/v1/auth';
import type { BeginErasureRequest, BeginErasureResponse } from '@crs/proto/crs/calls/v1/admin';
import type { EraseRequest } from '@crs/proto/crs/erasures/v1/erasures';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import { requireUnheld } from './require-unheld.ts';

/**
 * Begins a deletion that spans services. Auth marks the target while the import lock is held, which the creation of a hold takes too. So either the hold
 * comes first, and nothing is marked, or the target is marked first, and the hold is refused.
 */
export function beginErasure({ importDb, auth }: RecordContext) {
  const access = { action: 'erasure.begin', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async ({ target, check }: BeginErasureRequest, call): Promise<BeginErasureResponse> => {
    if (target?.target?.$case === 'organization') requireTenantDeletion(call.rights);
    const scope = callerScope(call);
    return importDb.transact(scope, async (query) => {
      await query(lockImports('calls', scope.organization));
      const found = await auth.beginErasure({ target, check: true }, call);
      if (!found.found) return found;
      await requireUnheld(query, scope.organization, erasedBy(target, found.userId));
      return check ? found : auth.beginErasure({ target, check: false }, call);
    });
  });
}

/** Returns the target as the services other than auth know it. */
function erasedBy(target: ErasureTarget | undefined, userId: string): EraseRequest['target'] {
  return target?.target?.$case === 'email' ? { $case: 'userId', value: userId } : target?.target;
}
