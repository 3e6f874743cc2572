import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';

/** Users as an organization's directory sees them: all, except those whom it deleted. */

const DIRECTORY_USER = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  givenName: column.text.orNull,
  familyName: column.text.orNull,
  externalId: column.text.orNull,
  disabledAt: column.timestamp.orNull,
  disabledBy: column.text.orNull,
  createdAt: column.timestamp,
  updatedAt: column.timestamp,
};
export type DirectoryUserRow = column.RowOf<typeof DIRECTORY_USER>;

const COLUMNS = column.selectList(DIRECTORY_USER);

/** Locks the user until the transaction ends. Nobody else writes what the directory writes, except operators. */
export function lockDirectoryUser(organization: string, userId: string): Statement<DirectoryUserRow> {
  return { ...findDirectoryUser(organization, userId, 'for no key update'), name: 'lock_directory_user' };
}

export function findDirectoryUser(organization: string, userId: string, locking = ''): Statement<DirectoryUserRow> {
  return {
    name: 'find_directory_user',
    row: DIRECTORY_USER,
    text: `select ${COLUMNS} from auth.users
      where organization = $1 and user_id = $2 and erasing_at is null and not deleted_in_directory ${locking}`,
    values: [organization, userId],
  };
}

/** Values that users must have. Absent: any. */
export interface UserFilter {
  userId?: string;
  emailFolded?: string;
  externalId?: string;
}

const FILTERED = { userId: 'user_id', emailFolded: 'email_folded', externalId: 'external_id' };

/** The condition varies, because one for all filters would get a plan without an index. */
function matches(organization: string, filter: UserFilter) {
  const names = Object.keys(filter) as (keyof UserFilter)[];
  const conditions = names.map((name, index) => `and ${FILTERED[name]} = $${index + 2}`);
  return {
    condition: `organization = $1 and erasing_at is null and not deleted_in_directory ${conditions.join(' ')}`,
    values: [organization, ...names.map((name) => filter[name])],
  };
}

export function countDirectoryUsers(organization: string, filter: UserFilter): Statement<{ count: number }> {
  const { condition, values } = matches(organization, filter);
  return {
    name: 'count_directory_users',
    row: { count: column.integer },
    text: `select count(*)::integer as count from auth.users where ${condition}`,
    values,
    dynamic: true,
  };
}

export function listDirectoryUsers(
  organization: string,
  filter: UserFilter,
  page: { offset: number; limit: number },
): Statement<DirectoryUserRow> {
  const { condition, values } = matches(organization, filter);
  const paging = `offset $${values.length + 1} limit $${values.length + 2}`;
  return {
    name: 'list_directory_users',
    row: DIRECTORY_USER,
    text: `select ${COLUMNS} from auth.users where ${condition} order by user_id ${paging}`,
    values: [...values, page.offset, page.limit],
    dynamic: true,
  };
}

const EMAIL_HOLDER = { userId: column.uuid, isDeletedInDirectory: column.boolean };

/** The user who has an e-mail, so that nobody else can. Locks them until the transaction ends. */
export function lockEmailHolder(organization: string, email: string): Statement<column.RowOf<typeof EMAIL_HOLDER>> {
  return {
    name: 'lock_email_holder',
    row: EMAIL_HOLDER,
    text: `select user_id as "userId", deleted_in_directory and erasing_at is null as "isDeletedInDirectory" from auth.users
      where organization = $1 and email_folded = $2 for no key update`,
    values: [organization, fold(email)],
  };
}

/** Shows a user to the directory again, who deleted them before. They stay disabled. */
export function undeleteInDirectory(organization: string, userId: string): Statement<DirectoryUserRow> {
  return {
    name: 'undelete_in_directory',
    row: DIRECTORY_USER,
    text: `update auth.users set deleted_in_directory = false, updated_at = now() where organization = $1 and user_id = $2 returning ${COLUMNS}`,
    values: [organization, userId],
  };
}

export type DirectoryProfile = Pick<DirectoryUserRow, 'email' | 'name' | 'givenName' | 'familyName' | 'externalId'>;

/** Fails if another user has the e-mail. */
export function setDirectoryProfile(
  organization: string,
  userId: string,
  { email, name, givenName, familyName, externalId }: DirectoryProfile,
): Statement<DirectoryUserRow> {
  return {
    name: 'set_directory_profile',
    row: DIRECTORY_USER,
    text: `update auth.users set email = $3, email_folded = $4, name = $5, given_name = $6, family_name = $7, external_id = $8,
        updated_at = now()
      where organization = $1 and user_id = $2 returning ${COLUMNS}`,
    values: [organization, userId, email, fold(email), name, givenName, familyName, externalId],
  };
}

/** A user whom an operator disabled stays disabled by them. */
export function disableByDirectory(organization: string, userId: string): Statement<DirectoryUserRow> {
  return {
    name: 'disable_by_directory',
    row: DIRECTORY_USER,
    text: `update auth.users set disabled_at = least(disabled_at, now()), disabled_by = coalesce(disabled_by, 'directory'), updated_at = now()
      where organization = $1 and user_id = $2 returning ${COLUMNS}`,
    values: [organization, userId],
  };
}

/** No row if the directory has not disabled the user. */
export function enableByDirectory(organization: string, userId: string): Statement<DirectoryUserRow> {
  return {
    name: 'enable_by_directory',
    row: DIRECTORY_USER,
    text: `update auth.users set disabled_at = null, disabled_by = null, updated_at = now()
      where organization = $1 and user_id = $2 and disabled_by = 'directory' returning ${COLUMNS}`,
    values: [organization, userId],
  };
}

/** Call it for a disabled user. They are no longer a member of any group. */
export function deleteInDirectory(organization: string, userId: string): Statement[] {
  const values = [organization, userId];
  return [
    {
      name: 'delete_in_directory',
      text: 'update auth.users set deleted_in_directory = true where organization = $1 and user_id = $2',
      values,
    },
    {
      name: 'leave_groups',
      text: 'delete from auth.group_members where organization = $1 and user_id = $2',
      values,
    },
  ];
}
