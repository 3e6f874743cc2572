import type { Query } from '@crs/kit/data/database';
import { invalid, notFound, ServiceError } from '@crs/kit/errors';
import { parseUuid } from '@crs/kit/text';
import { ProjectRole, type AddMemberRequest } from '@crs/proto/crs/auth/v1/admin';
import { findGroupsOfRole } from '../../store/group-maps.ts';
import { addRole, findProjects, removeRole, type Membership, type Role } from '../../store/projects.ts';
import { requireUser } from '../../store/users.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

export const ROLES: Partial<Record<ProjectRole, Role>> = {
  [ProjectRole.PROJECT_ROLE_LEAD]: 'lead',
  [ProjectRole.PROJECT_ROLE_MEMBER]: 'member',
};

export const PROJECT_ROLES = {
  lead: ProjectRole.PROJECT_ROLE_LEAD,
  member: ProjectRole.PROJECT_ROLE_MEMBER,
} satisfies Record<Role, ProjectRole>;

export const members = {
  addMember: {
    access: { action: 'member.add', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const membership = await parseMembership(query, organization, request);
      await addRole(query, organization, membership);
      await audit(`member.add.${membership.role}`, `${membership.projectId} ${membership.userId}`);
      return {};
    }),
  },
  removeMember: {
    access: { action: 'member.remove', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async (request, { organization, query, audit }) => {
      const membership = await parseMembership(query, organization, request);
      const removed = await removeRole(query, organization, membership);
      const groups = (await query(findGroupsOfRole(organization, membership))).map(({ group }) => group);
      if (!removed)
        throw groups.length > 0 ? hasRoleByGroups(groups) : notFound(`The user is no ${membership.role} of this project.`);
      await audit(`member.remove.${membership.role}`, `${membership.projectId} ${membership.userId}`);
      return { groups };
    }),
  },
} satisfies Partial<OperatorRpcs>;

function hasRoleByGroups(groups: string[]): ServiceError {
  const names = groups.map((group) => `"${group}"`).join(', ');
  const message = `The user has this role by the directory's group ${names}. Take them out of the group there, or use "scim unmap".`;
  return new ServiceError('failed_precondition', message);
}

/** @throws ServiceError invalid_argument, or not_found for the user or the project */
async function parseMembership(query: Query, organization: string, request: AddMemberRequest): Promise<Membership> {
  const projectId = parseUuid(request.projectId);
  if (!projectId) throw invalid('project', 'must be a UUID (8-4-4-4-12 hexadecimal digits)');
  const role = ROLES[request.role];
  if (!role) throw invalid('role', 'must be lead or member');
  const { userId } = await requireUser(query, organization, request.email);
  const [project] = await query(findProjects(organization, [projectId]));
  if (!project) throw notFound('There is no project with this id in this organization.');
  return { projectId, userId, role };
}
