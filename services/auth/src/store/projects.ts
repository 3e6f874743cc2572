import type { Query, Statement } from '@crs/kit/data/database';

/** The register of projects, who created them, and who has which role: who may see what. */
export type Role = 'lead' | 'member';

export interface ProjectGrant {
  projectId: string;
  createdBy: string | null;
  roles: { userId: string; role: Role }[];
}

/** Registers a project that nobody has a role in yet. @returns false where it is registered already */
export async function insertProject(
  query: Query,
  organization: string,
  projectId: string,
  createdBy: string | null,
): Promise<boolean> {
  const rows = await query({
    name: 'insert_project',
    text: 'insert into auth.projects (organization, project_id, created_by) values ($1, $2, $3) on conflict do nothing returning 1',
    values: [organization, projectId, createdBy],
  });
  return rows.length > 0;
}

/** As it stands, with the creator locked until the transaction ends; undefined where the project is not registered. */
export async function findProjectGrant(query: Query, organization: string, projectId: string): Promise<ProjectGrant | undefined> {
  const values = [organization, projectId];
  // The roles in a statement of their own, which sees what was committed while the first waited for the lock.
  const [[project], roles] = await Promise.all([
    query<Pick<ProjectGrant, 'createdBy'>>({
      name: 'lock_project',
      text: 'select created_by as "createdBy" from auth.projects where organization = $1 and project_id = $2 for no key update',
      values,
    }),
    query<ProjectGrant['roles'][number]>({
      name: 'find_project_roles',
      text: 'select user_id as "userId", role from auth.project_roles where organization = $1 and project_id = $2',
      values,
    }),
  ]);
  return project && { projectId, createdBy: project.createdBy, roles };
}

/** Makes a registered project's creator and roles these, and moves the version of everybody who came in or went out. */
export async function putProjectGrant(
  query: Query,
  organization: string,
  grant: ProjectGrant,
  createdBefore: string | null,
): Promise<void> {
  const { projectId, createdBy } = grant;
  const roles = [grant.roles.map((r) => r.userId), grant.roles.map((r) => r.role)];
  const [, removed, added] = await Promise.all([
    query({
      name: 'put_project_creator',
      text: `update auth.projects set created_by = $3
        where organization = $1 and project_id = $2 and created_by is distinct from $3`,
      values: [organization, projectId, createdBy],
    }),
    // What is removed, not what was read before: a role may have come in between.
    query<{ userId: string }>({
      name: 'remove_project_roles',
      text: `delete from auth.project_roles where organization = $1 and project_id = $2
        and (user_id, role) not in (select * from unnest($3::uuid[], $4::text[])) returning user_id as "userId"`,
      values: [organization, projectId, ...roles],
    }),
    query<{ userId: string }>({
      name: 'add_project_roles',
      text: `insert into auth.project_roles (organization, project_id, user_id, role)
        select $1, $2, * from unnest($3::uuid[], $4::text[]) on conflict do nothing returning user_id as "userId"`,
      values: [organization, projectId, ...roles],
    }),
  ]);
  const creators = createdBefore === createdBy ? [] : [createdBefore, createdBy].filter((id) => id !== null);
  await moveVersions(query, organization, [...new Set([...creators, ...[...removed, ...added].map((role) => role.userId)])]);
}

/** @returns false where the role was there already */
export async function addRole(
  query: Query,
  organization: string,
  projectId: string,
  userId: string,
  role: Role,
): Promise<boolean> {
  const rows = await query({
    name: 'add_role',
    text: `insert into auth.project_roles (organization, project_id, user_id, role) values ($1, $2, $3, $4) on conflict do nothing returning 1`,
    values: [organization, projectId, userId, role],
  });
  if (rows.length > 0) await moveVersions(query, organization, [userId]);
  return rows.length > 0;
}

/** @returns false where there was no such role */
export async function removeRole(
  query: Query,
  organization: string,
  projectId: string,
  userId: string,
  role: Role,
): Promise<boolean> {
  const rows = await query({
    name: 'remove_role',
    text: 'delete from auth.project_roles where organization = $1 and project_id = $2 and user_id = $3 and role = $4 returning 1',
    values: [organization, projectId, userId, role],
  });
  if (rows.length > 0) await moveVersions(query, organization, [userId]);
  return rows.length > 0;
}

/** In order of id, and not against the roles' foreign keys, so that two transactions don't wait for each other. */
export async function moveVersions(query: Query, organization: string, userIds: string[]): Promise<void> {
  if (userIds.length === 0) return;
  await query({
    name: 'move_visibility_versions',
    text: `update auth.users u set visibility_version = visibility_version + 1 from (
        select user_id from auth.users where organization = $1 and user_id = any($2) order by user_id for no key update) locked
      where u.organization = $1 and u.user_id = locked.user_id`,
    values: [organization, userIds],
  });
}

/** Those of the projects that exist. */
export async function findProjects(query: Query, organization: string, projectIds: string[]): Promise<string[]> {
  const rows = await query<{ projectId: string }>({
    name: 'find_projects',
    text: 'select project_id as "projectId" from auth.projects where organization = $1 and project_id = any($2::uuid[]) and erasing_at is null',
    values: [organization, projectIds],
  });
  return rows.map((row) => row.projectId);
}

export interface PersonRow {
  email: string;
  name: string | null;
  lead: boolean;
}

/** Who has a role in a project, by folded e-mail. */
export function projectPeople(organization: string, projectId: string): Statement {
  return {
    name: 'project_people',
    text: `select u.email, u.name, bool_or(r.role = 'lead') as lead
      from auth.project_roles r join auth.users u using (organization, user_id)
      where r.organization = $1 and r.project_id = $2 and u.erasing_at is null group by u.user_id, u.email, u.name, u.email_folded order by u.email_folded`,
    values: [organization, projectId],
  };
}

/** Whether the id belongs to a project whose deletion has begun and not ended. */
export async function isErasing(query: Query, organization: string, projectId: string): Promise<boolean> {
  const rows = await query({
    name: 'is_project_erasing',
    text: 'select 1 from auth.projects where organization = $1 and project_id = $2 and erasing_at is not null',
    values: [organization, projectId],
  });
  return rows.length > 0;
}

export interface VisibleProjectRow {
  projectId: string;
  created: boolean;
  lead: boolean;
  member: boolean;
}

/** The projects that a user may see and the version of that set, of one moment; undefined where the user is gone or disabled. */
export function visibleProjects(organization: string, userId: string) {
  return {
    name: 'visible_projects',
    text: `select u.visibility_version as version, coalesce((
        select json_agg(json_build_object('projectId', project_id, 'created', created, 'lead', lead, 'member', member))
        from (
          select project_id, bool_or(via = 'created') as created, bool_or(via = 'lead') as lead, bool_or(via = 'member') as member
          from (
            select project_id, 'created' as via from auth.projects where organization = $1 and created_by = $2 and erasing_at is null
            union all
            select r.project_id, r.role from auth.project_roles r join auth.projects p using (organization, project_id)
              where r.organization = $1 and r.user_id = $2 and p.erasing_at is null
          ) ways group by project_id
        ) visible), '[]') as projects
      from auth.users u where u.organization = $1 and u.user_id = $2 and u.disabled_at is null`,
    values: [organization, userId],
  };
}

export function visibilityVersion(organization: string, userId: string) {
  return {
    name: 'visibility_version',
    text: 'select visibility_version as version from auth.users where organization = $1 and user_id = $2 and disabled_at is null',
    values: [organization, userId],
  };
}
