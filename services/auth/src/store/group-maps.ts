import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';
import { incrementVisibilityVersions, type Membership, type Role } from './projects.ts';

/** Roles that follow from the groups of an organization's directory. */

/** Members of the group with this name have the role. */
export interface GroupMap {
  group: string;
  projectId: string;
  role: Role;
}

/**
 * Makes the transactions that change an organization's groups, their members or their maps run one after the other. Otherwise, of two
 * transactions that add a member and remove a map, neither would see the other's change, and the member would keep the role. No row once the
 * organization's deletion has begun.
 */
export function lockDirectory(organization: string): Statement<{ organization: string }> {
  return {
    name: 'lock_directory',
    row: { organization: column.text },
    text: 'select organization from auth.organizations where organization = $1 and erasing_at is null for no key update',
    values: [organization],
  };
}

/** No row if the group is mapped to the role already. */
export function insertGroupMap(organization: string, { group, projectId, role }: GroupMap): Statement<{ projectId: string }> {
  return {
    name: 'insert_group_map',
    row: { projectId: column.uuid },
    text: `insert into auth.group_maps (organization, name, name_folded, project_id, role) values ($1, $2, $3, $4, $5)
      on conflict do nothing returning project_id as "projectId"`,
    values: [organization, group, fold(group), projectId, role],
  };
}

/** No row if the group isn't mapped to the role. */
export function deleteGroupMap(organization: string, { group, projectId, role }: GroupMap): Statement<{ projectId: string }> {
  return {
    name: 'delete_group_map',
    row: { projectId: column.uuid },
    text: `delete from auth.group_maps where organization = $1 and name_folded = $2 and project_id = $3 and role = $4
      returning project_id as "projectId"`,
    values: [organization, fold(group), projectId, role],
  };
}

const LISTED_MAP = { group: column.text, projectId: column.uuid, role: column.text, members: column.integer.orNull };

/** `members` is null if the directory has no group with the name. */
export function listGroupMaps(organization: string): Statement<column.RowOf<typeof LISTED_MAP>> {
  return {
    name: 'list_group_maps',
    row: LISTED_MAP,
    text: `select p.name as "group", p.project_id as "projectId", p.role, (
        select count(m.user_id)::integer from auth.groups g left join auth.group_members m using (organization, group_id)
        where g.organization = $1 and g.name_folded = p.name_folded group by g.group_id) as members
      from auth.group_maps p where p.organization = $1 order by p.name_folded, p.project_id, p.role`,
    values: [organization],
  };
}

/** The members of the group with this name. No row if the directory has no such group. */
export function findGroupMembers(organization: string, group: string): Statement<{ userIds: string[] }> {
  return {
    name: 'find_group_members',
    row: { userIds: column.uuidArray },
    text: `select array(select m.user_id from auth.group_members m where m.organization = $1 and m.group_id = g.group_id) as "userIds"
      from auth.groups g where g.organization = $1 and g.name_folded = $2`,
    values: [organization, fold(group)],
  };
}

/** The groups by which a user has a role. */
export function findGroupsOfRole(organization: string, { userId, projectId, role }: Membership): Statement<{ group: string }> {
  return {
    name: 'find_groups_of_role',
    row: { group: column.text },
    text: `select g.name as "group" from auth.group_members m join auth.groups g using (organization, group_id)
        join auth.group_maps p using (organization, name_folded)
      where m.organization = $1 and m.user_id = $2 and p.project_id = $3 and p.role = $4 order by g.name_folded`,
    values: [organization, userId, projectId, role],
  };
}

/** The role in `r` follows from no group. */
const FOLLOWS_FROM_NOTHING = `not exists (
  select from auth.group_members m join auth.groups g using (organization, group_id) join auth.group_maps p using (organization, name_folded)
  where m.organization = $1 and m.user_id = r.user_id and p.project_id = r.project_id and p.role = r.role)`;

/**
 * Gives users the roles that follow from their groups now, and takes away those that no longer do. Call it after {@link lockDirectory}, with
 * all users who were or are members of a group that changed.
 */
export async function followGroups(query: Query, organization: string, userIds: string[]): Promise<void> {
  if (userIds.length === 0) return;
  const row = { userId: column.uuid };
  const values = [organization, userIds];
  const [removed, added] = await Promise.all([
    query({
      name: 'remove_directory_roles',
      row,
      text: `delete from auth.project_roles r where r.organization = $1 and r.user_id = any($2::uuid[]) and r.source = 'directory'
        and ${FOLLOWS_FROM_NOTHING} returning r.user_id as "userId"`,
      values,
    }),
    query({
      name: 'add_directory_roles',
      row,
      text: `insert into auth.project_roles (organization, project_id, user_id, role, source)
        select distinct m.organization, p.project_id, m.user_id, p.role, 'directory'
        from auth.group_members m join auth.groups g using (organization, group_id) join auth.group_maps p using (organization, name_folded)
        where m.organization = $1 and m.user_id = any($2::uuid[])
        on conflict do nothing returning user_id as "userId"`,
      values,
    }),
  ]);
  const changed = new Set([...removed, ...added].map(({ userId }) => userId));
  if (changed.size > 0) await query(incrementVisibilityVersions(organization, [...changed]));
}
