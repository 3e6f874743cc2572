import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import { callerScope } from '@crs/kit/data/scope';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { rpc } from '@crs/kit/rpc/server';
import type { Context } from '../context.ts';
import { eraseAll } from '../store/erase.ts';

const ACCESS = { action: 'erase', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true } as const;

/** Endpoints belong to an organization alone, so a deleted project or user has nothing here. */
export function erase({ db, auth }: Context) {
  return rpc({ operator: ACCESS }, async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    if (target?.$case !== 'organization') return { more: false };
    requireTenantDeletion(call.rights);
    const scope = callerScope(call);
    await auth.recordAudit({ action: 'webhooks.erase', target: scope.organization, address: call.address, counted: true }, call);
    await eraseAll(db, scope);
    return { more: false };
  });
}
