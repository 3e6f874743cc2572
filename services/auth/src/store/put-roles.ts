import type { Query } from '@crs/kit/data/database';
import type { Problem } from '@crs/records/import-record';
import { fold } from '@crs/kit/text';
import { beingDeleted } from '../domain/not-found.ts';
import { findErasingProjects, putProjects, type ProjectRoles, type Role } from './projects.ts';
import { findUsersByEmail } from './users.ts';

/** A project's creator and the roles of users in it, by e-mail. */
export interface NamedRoles {
  projectId: string;
  createdBy: string | null;
  members: { email: string; role: Role }[];
}

/**
 * Replaces the creators and roles of projects, in as few statements for a thousand projects as for one.
 * @returns for each project whether that changed anything, or the field whose e-mail belongs to nobody
 */
export async function putRoles(query: Query, organization: string, projects: NamedRoles[]): Promise<(boolean | Problem)[]> {
  const seen = new Set<string>();
  const again = projects.findIndex(({ projectId }) => seen.size === seen.add(projectId).size);
  // A project that is there twice is replaced twice.
  if (again >= 0) {
    const earlier = await putRoles(query, organization, projects.slice(0, again));
    return [...earlier, ...(await putRoles(query, organization, projects.slice(again)))];
  }

  const erasing = new Set((await query(findErasingProjects(organization, [...seen]))).map(({ projectId }) => projectId));
  const emails = projects.flatMap(({ createdBy, members }) => [createdBy ?? [], members.map(({ email }) => email)].flat());
  const found = await query(findUsersByEmail(organization, [...new Set(emails.map(fold))]));
  const users = new Map(found.map(({ emailFolded, userId }) => [emailFolded, userId]));
  const named = projects.map((project) => (erasing.has(project.projectId) ? beingDeleted('id') : rolesOf(project, users)));
  const good = named.filter((roles) => 'roles' in roles);

  const changed = await putProjects(query, organization, good);
  return named.map((roles) => ('roles' in roles ? changed.has(roles.projectId) : roles));
}

/** The roles by user id, or the field whose e-mail belongs to nobody. @param users ids by folded e-mail */
function rolesOf({ projectId, createdBy, members }: NamedRoles, users: Map<string, string>): ProjectRoles | Problem {
  if (createdBy !== null && !users.has(fold(createdBy))) return nobody('created_by');
  const stranger = members.findIndex(({ email }) => !users.has(fold(email)));
  if (stranger >= 0) return nobody(`members[${stranger}].email`);
  return {
    projectId,
    createdBy: createdBy === null ? null : users.get(fold(createdBy))!,
    roles: members.map(({ email, role }) => ({ userId: users.get(fold(email))!, role })),
  };
}

function nobody(field: string): Problem {
  return { field, reason: 'must be the e-mail of a user of this organization' };
}
