import { callerScope } from '@crs/kit/data/scope';
import { invalid, unavailable } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { GrantProjectRequest, GrantProjectResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { organizationExists } from '../store/organizations.ts';
import { insertProjects, putProjectRoles, type ProjectRoles } from '../store/projects.ts';

export function grantProject({ db }: Context) {
  return rpc({ organization: 'write' }, async (request: GrantProjectRequest, call): Promise<GrantProjectResponse> => {
    const projectId = parseUuid(request.projectId);
    if (!projectId) throw invalid('project_id', 'must be a UUID');
    const project: ProjectRoles = {
      projectId,
      createdBy: null,
      roles: [
        { userId: request.leadUserId, role: 'lead' },
        ...request.memberUserIds.map((userId) => ({ userId, role: 'member' as const })),
      ],
    };
    const scope = callerScope(call);
    await db.transact(scope, async (query) => {
      // A caller token outlives the first step of the organization's deletion by seconds. The project would then outlive the last step.
      const [known] = await query(organizationExists(scope.organization));
      if (!known) throw unavailable('The organization is being deleted.');
      const [inserted] = await query(insertProjects(scope.organization, [project]));
      // A repeated call changes nothing: the roles may have been changed since.
      if (inserted) await putProjectRoles(query, scope.organization, [{ after: project }]);
    });
    return {};
  });
}
