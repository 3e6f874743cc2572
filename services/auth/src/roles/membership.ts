import type { Query } from '@crs/kit/data/database';
import { invalid } from '@crs/kit/errors';
import { parseUuid } from '@crs/kit/text';
import { ProjectRole } from '@crs/proto/crs/auth/v1/admin';
import { noSuchProject, noSuchUser } from '../domain/not-found.ts';
import { requireText } from '../domain/settings.ts';
import { findProjects, type Role } from '../store/projects.ts';
import { findUser } from '../store/users.ts';

export interface Membership {
  projectId: string;
  userId: string;
  role: Role;
}

/** Reads the role that a request names. @throws ServiceError invalid_argument, or not_found for the user or the project */
export async function findMembership(
  query: Query,
  organization: string,
  request: { projectId: string; email: string; role: ProjectRole },
): Promise<Membership> {
  const projectId = parseUuid(request.projectId);
  if (!projectId) throw invalid('project', 'must be a UUID (8-4-4-4-12 hexadecimal digits)');
  const role =
    request.role === ProjectRole.PROJECT_ROLE_LEAD
      ? 'lead'
      : request.role === ProjectRole.PROJECT_ROLE_MEMBER
        ? 'member'
        : undefined;
  if (!role) throw invalid('role', 'must be lead or member');
  const [user] = await query(findUser(organization, requireText('email', request.email, 3, 254)));
  if (!user) throw noSuchUser();
  const [project] = await query(findProjects(organization, [projectId]));
  if (!project) throw noSuchProject();
  return { projectId, userId: user.userId, role };
}
