import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import { callerScope, type Scope } from '@crs/kit/data/scope';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { rpc } from '@crs/kit/rpc/server';
import { eraser, type Step } from './erase-steps.ts';
import type { RecordContext } from './record-service.ts';

type Target = EraseRequest['target'];

/** The handler of `Erase`, for operators. An import deletes projects and users. */
export function eraseRpc(service: string, { auth }: RecordContext, steps: (target: Target, scope: Scope) => Step[]) {
  const access = { action: 'erase', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true } as const;
  const erase = eraser();
  return rpc({ operator: access }, async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    if (target?.$case === 'organization') requireTenantDeletion(call.rights);
    const scope = callerScope(call);
    // Counted, as a large organization takes many calls.
    const entry = {
      action: `${service}.erase`,
      target: nameOf(target, scope.organization),
      address: call.address,
      counted: true,
    };
    await auth.recordAudit(entry, call);
    return { more: await erase(steps(target, scope)) };
  });
}

function nameOf(target: Target, organization: string): string {
  return target === undefined || target.$case === 'organization' ? organization : target.value.slice(0, 100);
}
