import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { BeginErasureRequest, BeginErasureResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { parseTarget } from '../../domain/erasure-target.ts';
import { audit } from '../../store/audit.ts';
import { markOrganization, markProject, markUser } from '../../store/erasures.ts';

export function beginErasure({ db }: Context) {
  return rpc(['operator'], async (request: BeginErasureRequest, call): Promise<BeginErasureResponse> => {
    const scope = callerScope(call);
    const target = parseTarget(request.target);
    return db.transact(scope, async (query) => {
      let found: boolean;
      let userId: string | undefined;
      if (target.kind === 'organization') found = await markOrganization(query, scope.organization);
      else if (target.kind === 'project') found = await markProject(query, scope.organization, target.projectId);
      else found = (userId = await markUser(query, scope.organization, target.email)) !== undefined;
      const name =
        target.kind === 'organization' ? scope.organization : target.kind === 'project' ? target.projectId : (userId ?? '');
      if (found) await audit(query, call.identity, `${target.kind}.delete`, name);
      return { found, userId: userId ?? '' };
    });
  });
}
