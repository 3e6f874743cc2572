import * as column from '@crs/kit/data/column';
import type { Query } from '@crs/kit/data/database';
import type { FieldError } from '@crs/records/import-record';
import { missing } from '@crs/records/missing-reference';
import { fold } from '@crs/kit/text';
import { beingDeleted } from '../domain/not-found.ts';
import { findErasingProjects, insertProjects, incrementVisibilityVersions, type ProjectRoles, type Role } from './projects.ts';
import { findUsersByEmail } from './users.ts';

/** A project with the e-mails of its creator and members. */
export interface ProjectGrants {
  projectId: string;
  createdBy: string | null;
  members: { email: string; role: Role }[];
  /** The stored creator stays, or the stored roles do. */
  keepsCreator: boolean;
  keepsMembers: boolean;
}

/** Roles that replace the stored ones, except for what is kept. */
type NewRoles = ProjectRoles & Partial<Pick<ProjectGrants, 'keepsCreator' | 'keepsMembers'>>;

/**
 * Replaces the creators of projects, and the roles that records give. The number of statements doesn't grow with the number of projects.
 * @param supposed folded e-mails that are taken for those of new users. A project that names one isn't written, but reported as changed
 * @returns for each project whether that changed anything, or why it was refused
 */
export async function putRoles(
  query: Query,
  organization: string,
  projects: ProjectGrants[],
  supposed: ReadonlySet<string> = new Set(),
): Promise<(boolean | FieldError)[]> {
  const seen = new Set<string>();
  const repeated = projects.findIndex(({ projectId }) => seen.size === seen.add(projectId).size);
  if (repeated >= 0) {
    const earlier = await putRoles(query, organization, projects.slice(0, repeated), supposed);
    return [...earlier, ...(await putRoles(query, organization, projects.slice(repeated), supposed))];
  }

  const erasing = new Set((await query(findErasingProjects(organization, [...seen]))).map(({ projectId }) => projectId));
  const emails = projects.flatMap(({ createdBy, members }) => [createdBy ?? [], members.map(({ email }) => email)].flat());
  const found = await query(findUsersByEmail(organization, [...new Set(emails.map(fold))]));
  const users = new Map(found.map(({ emailFolded, userId }) => [emailFolded, userId]));
  const resolved = projects.map((project) =>
    erasing.has(project.projectId) ? beingDeleted('id') : resolve(project, users, supposed),
  );
  const accepted = resolved.filter((project) => project !== SUPPOSED && 'roles' in project);
  const changed = await putProjects(query, organization, accepted);
  return resolved.map((project) => (project === SUPPOSED ? true : 'roles' in project ? changed.has(project.projectId) : project));
}

/** In place of the roles of a project that names a supposed user. */
const SUPPOSED = 'supposed';

/** Replaces e-mails by user ids. @param users ids by folded e-mail @returns the problem if an e-mail belongs to nobody */
function resolve(
  { projectId, createdBy, members, keepsCreator, keepsMembers }: ProjectGrants,
  users: ReadonlyMap<string, string>,
  supposed: ReadonlySet<string>,
): NewRoles | FieldError | typeof SUPPOSED {
  const isUser = (email: string) => users.has(fold(email)) || supposed.has(fold(email));
  if (createdBy !== null && !isUser(createdBy)) return missing('user', 'created_by');
  const unknown = members.findIndex(({ email }) => !isUser(email));
  if (unknown >= 0) return missing('user', `members[${unknown}].email`);
  const roles = members.map(({ email, role }) => ({ userId: users.get(fold(email)), role }));
  const creator = createdBy === null ? null : users.get(fold(createdBy));
  if (creator === undefined || !roles.every(hasUser)) return SUPPOSED;
  return { projectId, createdBy: creator, roles, keepsCreator, keepsMembers };
}

function hasUser(role: { userId: string | undefined; role: Role }): role is { userId: string; role: Role } {
  return role.userId !== undefined;
}

/** A user who gains or loses access to a project. Null: the project had or gets no creator. */
interface AccessChange {
  projectId: string;
  userId: string | null;
}

/**
 * Registers projects or replaces their creators and roles, and increments the visibility version of everybody who gains or loses access.
 * @param projects each one at most once
 * @returns the ids of the changed projects
 */
export async function putProjects(query: Query, organization: string, projects: NewRoles[]): Promise<Set<string>> {
  const inserted = new Set((await query(insertProjects(organization, projects))).map(({ projectId }) => projectId));
  const created = projects.filter(({ projectId }) => inserted.has(projectId));
  const others = projects.filter(({ projectId }) => !inserted.has(projectId));
  const changes: AccessChange[] = [
    ...created.map(({ projectId, createdBy }) => ({ projectId, userId: createdBy })),
    ...(await replaceCreators(query, organization, others)),
    ...(await replaceRoles(
      query,
      organization,
      projects.filter(({ keepsMembers }) => !keepsMembers),
    )),
  ];
  const users = changes.flatMap(({ userId }) => userId ?? []);
  if (users.length > 0) await query(incrementVisibilityVersions(organization, users));
  return new Set(changes.map(({ projectId }) => projectId));
}

/** Locks the projects until the transaction ends. */
async function replaceCreators(query: Query, organization: string, projects: NewRoles[]): Promise<AccessChange[]> {
  const rows = await query({
    name: 'lock_projects',
    row: { projectId: column.uuid, createdBy: column.uuid.orNull },
    text: `select project_id as "projectId", created_by as "createdBy" from auth.projects
      where organization = $1 and project_id = any($2::uuid[]) order by project_id for no key update`,
    values: [organization, projects.map((p) => p.projectId)],
  });
  const before = new Map(rows.map(({ projectId, createdBy }) => [projectId, createdBy]));
  const replaced = projects.filter(({ keepsCreator }) => !keepsCreator);
  const changed = replaced.filter(({ projectId, createdBy }) => before.get(projectId) !== createdBy);
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

async function replaceRoles(query: Query, organization: string, projects: ProjectRoles[]): Promise<AccessChange[]> {
  const roles = projects.flatMap(({ projectId, roles }) => roles.map((role) => ({ projectId, ...role })));
  const columns = [roles.map((r) => r.projectId), roles.map((r) => r.userId), roles.map((r) => r.role)];
  const row = { projectId: column.uuid, userId: column.uuid };
  const [removed, added] = await Promise.all([
    query({
      name: 'remove_project_roles',
      row,
      text: `delete from auth.project_roles where organization = $1 and project_id = any($2::uuid[]) and source = 'records'
        and not exists (select from unnest($3::uuid[], $4::uuid[], $5::text[]) as kept (project_id, user_id, role)
          where kept.project_id = project_roles.project_id and kept.user_id = project_roles.user_id and kept.role = project_roles.role)
        returning project_id as "projectId", user_id as "userId"`,
      values: [organization, projects.map((p) => p.projectId), ...columns],
    }),
    query({
      name: 'add_project_roles',
      row,
      text: `insert into auth.project_roles (organization, project_id, user_id, role, source)
        select $1, *, 'records' from unnest($2::uuid[], $3::uuid[], $4::text[]) on conflict do nothing
        returning project_id as "projectId", user_id as "userId"`,
      values: [organization, ...columns],
    }),
  ]);
  return [...removed, ...added];
}
