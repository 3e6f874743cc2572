import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { FinishErasureRequest, FinishErasureResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { parseTarget } from '../../domain/erasure-target.ts';
import { removeOrganization, removeProject, removeUser } from '../../store/erasures.ts';

export function finishErasure({ db }: Context) {
  return rpc(['operator'], async (request: FinishErasureRequest, call): Promise<FinishErasureResponse> => {
    const scope = callerScope(call);
    const target = parseTarget(request.target);
    await db.transact(scope, async (query) => {
      if (target.kind === 'organization') await removeOrganization(query, scope.organization);
      else if (target.kind === 'project') await query(removeProject(scope.organization, target.projectId));
      else await query(removeUser(scope.organization, target.email));
    });
    return {};
  });
}
