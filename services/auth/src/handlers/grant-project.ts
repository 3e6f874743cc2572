import { callerScope } from '@crs/kit/data/scope';
import { invalid, ServiceError, unavailable } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { GrantProjectRequest, GrantProjectResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { organizationExists } from '../store/organizations.ts';
import { insertProject, putProjectGrant, type ProjectGrant } from '../store/projects.ts';

export function grantProject({ db }: Context) {
  return rpc(['organization'], async (request: GrantProjectRequest, call): Promise<GrantProjectResponse> => {
    const { writeSurface, readOnly } = call.identity;
    if (!writeSurface || readOnly) throw new ServiceError('permission_denied', 'The key may not create projects.');
    const projectId = parseUuid(request.projectId);
    if (!projectId) throw invalid('project_id', 'must be a UUID');
    const grant: ProjectGrant = {
      projectId,
      createdBy: null,
      roles: [
        { userId: request.leadUserId, role: 'lead' },
        ...request.memberUserIds.map((userId) => ({ userId, role: 'member' as const })),
      ],
    };
    const scope = callerScope(call);
    await db.transact(scope, async (query) => {
      // A caller token outlives the organization's first step of deletion by seconds, and the project would outlive its last.
      if (!(await organizationExists(query, scope.organization))) throw unavailable('The organization is being deleted.');
      // A repeat of the grant changes nothing: its people may have been changed since.
      if (await insertProject(query, scope.organization, projectId, null))
        await putProjectGrant(query, scope.organization, grant, null);
    });
    return {};
  });
}
