import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { ServiceError } from '@crs/kit/errors';
import type { VisibleProject } from '@crs/proto/crs/auth/v1/auth';
import { MAX_ITEMS } from '@crs/records/import-record';

/** The registered projects. A user may see a project as its creator, or by a role in it. */

export type Role = 'lead' | 'member';

export interface Membership {
  projectId: string;
  userId: string;
  role: Role;
}

export interface ProjectRoles {
  projectId: string;
  createdBy: string | null;
  roles: Pick<Membership, 'userId' | 'role'>[];
}

/** Registers projects without roles. Returns a row for each that was not registered yet. */
export function insertProjects(
  organization: string,
  projects: Pick<ProjectRoles, 'projectId' | 'createdBy'>[],
): Statement<{ projectId: string }> {
  return {
    name: 'insert_projects',
    row: { projectId: column.uuid },
    text: `insert into auth.projects (organization, project_id, created_by)
      select $1, * from unnest($2::uuid[], $3::uuid[]) as new (project_id, created_by) order by new.project_id
      on conflict do nothing returning project_id as "projectId"`,
    values: [organization, projects.map((p) => p.projectId), projects.map((p) => p.createdBy)],
  };
}

/**
 * Changes nothing if the user has the role already.
 * @throws ServiceError failed_precondition if the project has as many roles as an import record may: its export couldn't be imported
 */
export async function addRole(query: Query, organization: string, { projectId, userId, role }: Membership): Promise<void> {
  const added = await query({
    name: 'add_role',
    row: { userId: column.uuid },
    text: `insert into auth.project_roles (organization, project_id, user_id, role, source) values ($1, $2, $3, $4, 'records')
      on conflict do nothing returning user_id as "userId"`,
    values: [organization, projectId, userId, role],
  });
  if (added.length === 0) return;
  const [roles] = await query({
    name: 'count_roles',
    row: { count: column.integer },
    text: `select count(*)::integer as count from auth.project_roles
      where organization = $1 and project_id = $2 and source = 'records'`,
    values: [organization, projectId],
  });
  if (roles!.count > MAX_ITEMS) {
    const message = `The project has ${MAX_ITEMS} members, and can't have more. Remove one, then add this one.`;
    throw new ServiceError('failed_precondition', message);
  }
  await query(incrementVisibilityVersions(organization, [userId]));
}

/** Leaves a role by the directory. @returns false if the user did not have the role by records */
export async function removeRole(query: Query, organization: string, membership: Membership): Promise<boolean> {
  const { projectId, userId, role } = membership;
  const removed = await query({
    name: 'remove_role',
    row: { userId: column.uuid },
    text: `delete from auth.project_roles
      where organization = $1 and project_id = $2 and user_id = $3 and role = $4 and source = 'records' returning user_id as "userId"`,
    values: [organization, projectId, userId, role],
  });
  if (removed.length > 0) await query(incrementVisibilityVersions(organization, [userId]));
  return removed.length > 0;
}

/** Locks users in the order of their ids, so that transactions can't deadlock, and without blocking inserts of their roles. */
export function incrementVisibilityVersions(organization: string, userIds: string[]): Statement {
  return {
    name: 'increment_visibility_versions',
    text: `update auth.users u set visibility_version = visibility_version + 1 from (
        select user_id from auth.users where organization = $1 and user_id = any($2) order by user_id for no key update) locked
      where u.organization = $1 and u.user_id = locked.user_id`,
    values: [organization, userIds],
  };
}

/** Leaves out projects that aren't registered, or whose deletion has begun. */
export function findProjects(organization: string, projectIds: string[]): Statement<{ projectId: string }> {
  return {
    name: 'find_projects',
    row: { projectId: column.uuid },
    text: `select project_id as "projectId" from auth.projects
      where organization = $1 and project_id = any($2::uuid[]) and erasing_at is null`,
    values: [organization, projectIds],
  };
}

const PERSON = { email: column.text, name: column.text.orNull, lead: column.boolean };

export function projectPeople(organization: string, projectId: string): Statement<column.RowOf<typeof PERSON>> {
  return {
    name: 'project_people',
    row: PERSON,
    text: `select u.email, u.name, bool_or(r.role = 'lead') as lead
      from auth.project_roles r join auth.users u using (organization, user_id)
      where r.organization = $1 and r.project_id = $2 and u.erasing_at is null group by u.user_id, u.email, u.name, u.email_folded order by u.email_folded`,
    values: [organization, projectId],
  };
}

/** Finds only projects whose deletion has begun and not ended. */
export function findErasingProjects(organization: string, projectIds: string[]): Statement<{ projectId: string }> {
  return {
    name: 'find_erasing_projects',
    row: { projectId: column.uuid },
    text: `select project_id as "projectId" from auth.projects
      where organization = $1 and project_id = any($2::uuid[]) and erasing_at is not null`,
    values: [organization, projectIds],
  };
}

const VISIBLE = { version: column.bigint, projects: column.json<VisibleProject[]>() };

/** The projects that a user may see, and the version of that set, read in one snapshot. No row for a deleted or disabled user. */
export function visibleProjects(organization: string, userId: string): Statement<column.RowOf<typeof VISIBLE>> {
  return {
    name: 'visible_projects',
    row: VISIBLE,
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

/** No row for a deleted or disabled user. */
export function visibilityVersion(organization: string, userId: string): Statement<{ version: string }> {
  return {
    name: 'visibility_version',
    row: { version: column.bigint },
    text: 'select visibility_version as version from auth.users where organization = $1 and user_id = $2 and disabled_at is null',
    values: [organization, userId],
  };
}

const DESCRIBED = {
  projectId: column.uuid,
  createdBy: column.text.orNull,
  members: column.json<{ email: string; lead: boolean }[]>(),
};

/** Leaves out roles by the directory, and projects that don't exist or whose deletion has begun. */
export function describeProjects(organization: string, projectIds: string[]): Statement<column.RowOf<typeof DESCRIBED>> {
  return {
    name: 'describe_projects',
    row: DESCRIBED,
    text: `select p.project_id as "projectId", (
        select u.email from auth.users u where u.organization = $1 and u.user_id = p.created_by and u.erasing_at is null
      ) as "createdBy", coalesce((
        select json_agg(json_build_object('email', u.email, 'lead', r.role = 'lead') order by u.email_folded, r.role)
        from auth.project_roles r join auth.users u on u.organization = $1 and u.user_id = r.user_id
        where r.organization = $1 and r.project_id = p.project_id and r.source = 'records' and u.erasing_at is null), '[]') as members
      from auth.projects p where p.organization = $1 and p.project_id = any($2::uuid[]) and p.erasing_at is null`,
    values: [organization, projectIds],
  };
}
