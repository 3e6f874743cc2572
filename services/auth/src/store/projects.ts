import type { Query } from '@crs/kit/database';

/** The register of projects, who created them, and who has which role: who may see what. */
export type Role = 'lead' | 'member';

export interface ProjectGrant {
  projectId: string;
  createdBy: string | null;
  roles: { userId: string; role: Role }[];
}

export async function findProjectGrant(query: Query, organization: string, projectId: string): Promise<ProjectGrant | undefined> {
  const [row] = await query<ProjectGrant>({
    name: 'find_project_grant',
    text: `select project_id as "projectId", created_by as "createdBy", coalesce((
        select json_agg(json_build_object('userId', r.user_id, 'role', r.role))
        from auth.project_roles r where r.organization = p.organization and r.project_id = p.project_id), '[]') as roles
      from auth.projects p where organization = $1 and project_id = $2 for update`,
    values: [organization, projectId],
  });
  return row;
}

/** Writes a project's creator and its roles, whole, and moves the version of everybody whose visible set may have changed. */
export async function putProjectGrant(
  query: Query,
  organization: string,
  grant: ProjectGrant,
  before: ProjectGrant | undefined,
): Promise<void> {
  await query({
    name: 'put_project',
    text: `insert into auth.projects (organization, project_id, created_by) values ($1, $2, $3)
      on conflict (organization, project_id) do update set created_by = excluded.created_by`,
    values: [organization, grant.projectId, grant.createdBy],
  });
  await query({
    name: 'clear_project_roles',
    text: 'delete from auth.project_roles where organization = $1 and project_id = $2',
    values: [organization, grant.projectId],
  });
  await query({
    name: 'insert_project_roles',
    text: `insert into auth.project_roles (organization, project_id, user_id, role)
      select $1, $2, * from unnest($3::uuid[], $4::text[]) on conflict do nothing`,
    values: [organization, grant.projectId, grant.roles.map((r) => r.userId), grant.roles.map((r) => r.role)],
  });
  const concerned = [before, grant].flatMap((state) => (state ? [state.createdBy, ...state.roles.map((r) => r.userId)] : []));
  await moveVersions(query, organization, [...new Set(concerned.filter((id) => id !== null))]);
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

/** In order of id, so that two transactions can't wait for each other. */
async function moveVersions(query: Query, organization: string, userIds: string[]): Promise<void> {
  if (userIds.length === 0) return;
  await query({
    name: 'move_visibility_versions',
    text: `update auth.users u set visibility_version = visibility_version + 1 from (
        select user_id from auth.users where organization = $1 and user_id = any($2) order by user_id for update) locked
      where u.organization = $1 and u.user_id = locked.user_id`,
    values: [organization, userIds],
  });
}

/** Those of the projects that exist. */
export async function findProjects(query: Query, organization: string, projectIds: string[]): Promise<string[]> {
  const rows = await query<{ projectId: string }>({
    name: 'find_projects',
    text: 'select project_id as "projectId" from auth.projects where organization = $1 and project_id = any($2::uuid[])',
    values: [organization, projectIds],
  });
  return rows.map((row) => row.projectId);
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
            select project_id, 'created' as via from auth.projects where organization = $1 and created_by = $2
            union all
            select project_id, role from auth.project_roles where organization = $1 and user_id = $2
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
