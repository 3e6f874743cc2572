import * as column from '@crs/kit/data/column';
import type { Query } from '@crs/kit/data/database';
import type { Problem } from '@crs/records/import-record';
import { missing } from '@crs/records/missing-reference';
import { fold } from '@crs/kit/text';
import { beingDeleted } from '../domain/not-found.ts';
import { findErasingProjects, insertProjects, moveVersions, type ProjectRoles, type Role } from './projects.ts';
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
  if (createdBy !== null && !users.has(fold(createdBy))) return missing('user', 'created_by');
  const stranger = members.findIndex(({ email }) => !users.has(fold(email)));
  if (stranger >= 0) return missing('user', `members[${stranger}].email`);
  return {
    projectId,
    createdBy: createdBy === null ? null : users.get(fold(createdBy))!,
    roles: members.map(({ email, role }) => ({ userId: users.get(fold(email))!, role })),
  };
}

/** A user who comes into a project or goes out of it. Null stands for no creator. */
interface Move {
  projectId: string;
  userId: string | null;
}

/**
 * Registers projects or replaces their creators and roles, and moves the visibility version of everybody who comes in or goes out. No
 * project may be there twice.
 * @returns the ids of the projects that this changed
 */
export async function putProjects(query: Query, organization: string, projects: ProjectRoles[]): Promise<Set<string>> {
  const inserted = new Set((await query(insertProjects(organization, projects))).map(({ projectId }) => projectId));
  const created = projects.filter(({ projectId }) => inserted.has(projectId));
  const others = projects.filter(({ projectId }) => !inserted.has(projectId));
  const moves: Move[] = [
    ...created.map(({ projectId, createdBy }) => ({ projectId, userId: createdBy })),
    ...(await replaceCreators(query, organization, others)),
    ...(await replaceRoles(query, organization, projects)),
  ];
  const users = moves.flatMap(({ userId }) => userId ?? []);
  if (users.length > 0) await query(moveVersions(organization, users));
  return new Set(moves.map(({ projectId }) => projectId));
}

/** Locks the projects until the transaction ends. */
async function replaceCreators(query: Query, organization: string, projects: ProjectRoles[]): Promise<Move[]> {
  const rows = await query({
    name: 'lock_projects',
    row: { projectId: column.uuid, createdBy: column.uuid.orNull },
    text: `select project_id as "projectId", created_by as "createdBy" from auth.projects
      where organization = $1 and project_id = any($2::uuid[]) order by project_id for no key update`,
    values: [organization, projects.map((p) => p.projectId)],
  });
  const before = new Map(rows.map(({ projectId, createdBy }) => [projectId, createdBy]));
  const changed = projects.filter(({ projectId, createdBy }) => before.get(projectId) !== createdBy);
  if (changed.length === 0) return [];
  await query({
    name: 'put_project_creators',
    text: `update auth.projects p set created_by = new.created_by
      from unnest($2::uuid[], $3::uuid[]) as new (project_id, created_by)
      where p.organization = $1 and p.project_id = new.project_id`,
    values: [organization, changed.map((p) => p.projectId), changed.map((p) => p.createdBy)],
  });
  return changed.flatMap(({ projectId, createdBy }) => [
    { projectId, userId: before.get(projectId) ?? null },
    { projectId, userId: createdBy },
  ]);
}

async function replaceRoles(query: Query, organization: string, projects: ProjectRoles[]): Promise<Move[]> {
  const roles = projects.flatMap(({ projectId, roles }) => roles.map((role) => ({ projectId, ...role })));
  const columns = [roles.map((r) => r.projectId), roles.map((r) => r.userId), roles.map((r) => r.role)];
  const row = { projectId: column.uuid, userId: column.uuid };
  const [removed, added] = await Promise.all([
    query({
      name: 'remove_project_roles',
      row,
      text: `delete from auth.project_roles where organization = $1 and project_id = any($2::uuid[])
        and not exists (select from unnest($3::uuid[], $4::uuid[], $5::text[]) as kept (project_id, user_id, role)
          where kept.project_id = project_roles.project_id and kept.user_id = project_roles.user_id and kept.role = project_roles.role)
        returning project_id as "projectId", user_id as "userId"`,
      values: [organization, projects.map((p) => p.projectId), ...columns],
    }),
    query({
      name: 'add_project_roles',
      row,
      text: `insert into auth.project_roles (organization, project_id, user_id, role)
        select $1, * from unnest($2::uuid[], $3::uuid[], $4::text[]) on conflict do nothing
        returning project_id as "projectId", user_id as "userId"`,
      values: [organization, ...columns],
    }),
  ]);
  return [...removed, ...added];
}
