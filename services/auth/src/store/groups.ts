import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';

/** Groups of an organization's directory, and their members. */

const GROUP = {
  groupId: column.uuid,
  name: column.text,
  externalId: column.text.orNull,
  createdAt: column.timestamp,
  updatedAt: column.timestamp,
};
export type GroupRow = column.RowOf<typeof GROUP>;

const COLUMNS = column.selectList(GROUP);

export function findGroup(organization: string, groupId: string): Statement<GroupRow> {
  return {
    name: 'find_group',
    row: GROUP,
    text: `select ${COLUMNS} from auth.groups where organization = $1 and group_id = $2`,
    values: [organization, groupId],
  };
}

/** Values that groups must have. Absent: any. */
export interface GroupFilter {
  groupId?: string;
  nameFolded?: string;
  externalId?: string;
  /** Users who must all be members, each listed once. */
  memberIds?: string[];
}

const FILTERED = {
  groupId: (value: string) => `g.group_id = ${value}`,
  nameFolded: (value: string) => `g.name_folded = ${value}`,
  externalId: (value: string) => `g.external_id = ${value}`,
  memberIds: (value: string) => `g.group_id in (
    select m.group_id from auth.group_members m where m.organization = $1 and m.user_id = any(${value}::uuid[])
    group by m.group_id having count(distinct m.user_id) = cardinality(${value}::uuid[]))`,
};

/** The condition varies, because one for all filters would get a plan without an index. */
function matches(organization: string, filter: GroupFilter) {
  const names = Object.keys(filter) as (keyof GroupFilter)[];
  const conditions = names.map((name, index) => `and ${FILTERED[name](`$${index + 2}`)}`);
  return {
    condition: `g.organization = $1 ${conditions.join(' ')}`,
    values: [organization, ...names.map((name) => filter[name])],
  };
}

export function countGroups(organization: string, filter: GroupFilter): Statement<{ count: number }> {
  const { condition, values } = matches(organization, filter);
  return {
    name: 'count_groups',
    row: { count: column.integer },
    text: `select count(*)::integer as count from auth.groups g where ${condition}`,
    values,
    dynamic: true,
  };
}

const LISTED_GROUP = { ...GROUP, members: column.integer };

/** With the number of each group's members. */
export function listGroups(
  organization: string,
  filter: GroupFilter,
  page: { offset: number; limit: number },
): Statement<column.RowOf<typeof LISTED_GROUP>> {
  const { condition, values } = matches(organization, filter);
  const paging = `offset $${values.length + 1} limit $${values.length + 2}`;
  return {
    name: 'list_groups',
    row: LISTED_GROUP,
    text: `select ${column.selectList(GROUP, 'g')}, (
        select count(*)::integer from auth.group_members m where m.organization = $1 and m.group_id = g.group_id) as members
      from auth.groups g where ${condition} order by g.group_id ${paging}`,
    values: [...values, page.offset, page.limit],
    dynamic: true,
  };
}

const MEMBER = { groupId: column.uuid, userId: column.uuid };

export function listMembers(organization: string, groupIds: string[]): Statement<column.RowOf<typeof MEMBER>> {
  return {
    name: 'list_group_members',
    row: MEMBER,
    text: `select group_id as "groupId", user_id as "userId" from auth.group_members
      where organization = $1 and group_id = any($2::uuid[]) order by group_id, user_id`,
    values: [organization, groupIds],
  };
}

type NewGroup = Pick<GroupRow, 'name' | 'externalId'>;

/** No row if the name is taken. */
export function insertGroup(organization: string, { name, externalId }: NewGroup): Statement<GroupRow> {
  return {
    name: 'insert_group',
    row: GROUP,
    text: `insert into auth.groups (organization, group_id, name, name_folded, external_id)
      values ($1, gen_random_uuid(), $2, $3, $4) on conflict do nothing returning ${COLUMNS}`,
    values: [organization, name, fold(name), externalId],
  };
}

export function findGroupByName(organization: string, name: string): Statement<{ groupId: string }> {
  return {
    name: 'find_group_by_name',
    row: { groupId: column.uuid },
    text: 'select group_id as "groupId" from auth.groups where organization = $1 and name_folded = $2',
    values: [organization, fold(name)],
  };
}

/** Fails if another group has the name. */
export function updateGroup(organization: string, groupId: string, { name, externalId }: NewGroup): Statement<GroupRow> {
  return {
    name: 'update_group',
    row: GROUP,
    text: `update auth.groups set name = $3, name_folded = $4, external_id = $5, updated_at = now()
      where organization = $1 and group_id = $2 returning ${COLUMNS}`,
    values: [organization, groupId, name, fold(name), externalId],
  };
}

export function deleteGroup(organization: string, groupId: string): Statement {
  return {
    name: 'delete_group',
    text: 'delete from auth.groups where organization = $1 and group_id = $2',
    values: [organization, groupId],
  };
}

/** Which of these users the directory sees. */
export function findDirectoryUserIds(organization: string, userIds: string[]): Statement<{ userId: string }> {
  return {
    name: 'find_directory_user_ids',
    row: { userId: column.uuid },
    text: `select user_id as "userId" from auth.users
      where organization = $1 and user_id = any($2::uuid[]) and erasing_at is null and not deleted_in_directory`,
    values: [organization, userIds],
  };
}

/** @returns the ids of the users who weren't members before */
export async function addMembers(query: Query, organization: string, groupId: string, userIds: string[]): Promise<string[]> {
  const rows = await query({
    name: 'add_group_members',
    row: { userId: column.uuid },
    text: `insert into auth.group_members (organization, group_id, user_id)
      select $1, $2, * from unnest($3::uuid[]) as new (user_id) order by new.user_id on conflict do nothing
      returning user_id as "userId"`,
    values: [organization, groupId, userIds],
  });
  return rows.map(({ userId }) => userId);
}

/** @param allBut whether to remove all members but these @returns the ids of the users who were members */
export async function removeMembers(
  query: Query,
  organization: string,
  groupId: string,
  { userIds, allBut }: { userIds: string[]; allBut: boolean },
): Promise<string[]> {
  const rows = await query({
    name: allBut ? 'remove_other_group_members' : 'remove_group_members',
    row: { userId: column.uuid },
    text: `delete from auth.group_members
      where organization = $1 and group_id = $2 and ${allBut ? 'not ' : ''}user_id = any($3::uuid[]) returning user_id as "userId"`,
    values: [organization, groupId, userIds],
  });
  return rows.map(({ userId }) => userId);
}
