import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';
import { noSuchUser } from '../domain/not-found.ts';
import { requireText } from '../domain/settings.ts';

const USER = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  passwordHash: column.text.orNull,
  disabledAt: column.timestamp.orNull,
  disabledBy: column.text.orNull,
  externalId: column.text.orNull,
  sessionVersion: column.integer,
  createdAt: column.timestamp,
};
export type UserRow = column.RowOf<typeof USER>;

const COLUMNS = column.selectList(USER);

/** Finds disabled users too. */
export function findUser(organization: string, email: string): Statement<UserRow> {
  return {
    name: 'find_user',
    row: USER,
    text: `select ${COLUMNS} from auth.users where organization = $1 and email_folded = $2 and erasing_at is null`,
    values: [organization, fold(email)],
  };
}

/** Finds disabled users too. @throws ServiceError invalid_argument, or not_found if nobody has the e-mail */
export async function requireUser(query: Query, organization: string, email: string): Promise<UserRow> {
  const [user] = await query(findUser(organization, requireText('email', email, 3, 254)));
  if (!user) throw noSuchUser();
  return user;
}

export function listUsers(organization: string): Statement<UserRow> {
  return {
    name: 'list_users',
    row: USER,
    text: `select ${COLUMNS} from auth.users where organization = $1 order by email_folded`,
    values: [organization],
  };
}

/** Leaves out users whose deletion has begun. */
export function listPresentUsers(organization: string): Statement<UserRow> {
  return {
    name: 'list_present_users',
    row: USER,
    text: `select ${COLUMNS} from auth.users where organization = $1 and erasing_at is null order by email_folded`,
    values: [organization],
  };
}

const USER_BY_EMAIL = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  disabledAt: column.timestamp.orNull,
  emailFolded: column.text,
};
const FOUND_USER = { ...USER_BY_EMAIL, hasPassword: column.boolean };

/** Finds disabled users too. */
export function findUsersByEmail(organization: string, foldedEmails: string[]): Statement<column.RowOf<typeof FOUND_USER>> {
  return {
    name: 'find_users_by_email',
    row: FOUND_USER,
    text: `select ${column.selectList(USER_BY_EMAIL)}, password_hash is not null as "hasPassword" from auth.users
      where organization = $1 and email_folded = any($2) and erasing_at is null`,
    values: [organization, foldedEmails],
  };
}

type NewUser = Pick<UserRow, 'email' | 'name' | 'passwordHash'>;

/** No row if the e-mail is taken. */
export function insertUser(organization: string, user: NewUser): Statement<UserRow> {
  return {
    name: 'insert_user',
    row: USER,
    text: `insert into auth.users (organization, user_id, email, email_folded, name, password_hash)
      values ($1, gen_random_uuid(), $2, $3, $4, $5) on conflict do nothing returning ${COLUMNS}`,
    values: [organization, user.email, fold(user.email), user.name, user.passwordHash],
  };
}

/** Sets the password only if the user has none. */
export function updateUser(organization: string, userId: string, user: NewUser): Statement {
  return {
    name: 'update_user',
    text: 'update auth.users set email = $3, name = $4, password_hash = coalesce(password_hash, $5), updated_at = now() where organization = $1 and user_id = $2',
    values: [organization, userId, user.email, user.name, user.passwordHash],
  };
}

/** What an operator does. It overrides the directory, which can't enable a user whom an operator disabled. */
export function setUserDisabled(organization: string, email: string, disabled: boolean): Statement<UserRow> {
  const change = disabled
    ? `disabled_at = least(disabled_at, now()), disabled_by = 'operator'`
    : 'disabled_at = null, disabled_by = null, deleted_in_directory = false';
  return {
    name: disabled ? 'disable_user' : 'enable_user',
    row: USER,
    text: `update auth.users set ${change}, updated_at = now()
      where organization = $1 and email_folded = $2 and erasing_at is null returning ${COLUMNS}`,
    values: [organization, fold(email)],
  };
}

/** The user who has an e-mail, even one who is being deleted. */
export function findEmailOwner(organization: string, email: string): Statement<{ userId: string }> {
  return {
    name: 'find_email_owner',
    row: { userId: column.uuid },
    text: 'select user_id as "userId" from auth.users where organization = $1 and email_folded = $2',
    values: [organization, fold(email)],
  };
}

/** Fails if another user has the e-mail. */
export function setProfile(
  organization: string,
  userId: string,
  { email, name }: Pick<UserRow, 'email' | 'name'>,
): Statement<UserRow> {
  return {
    name: 'set_profile',
    row: USER,
    text: `update auth.users set email = $3, email_folded = $4, name = $5, updated_at = now()
      where organization = $1 and user_id = $2 and erasing_at is null returning ${COLUMNS}`,
    values: [organization, userId, email, fold(email), name],
  };
}

export function endSessions(organization: string, userId: string): Statement {
  return {
    name: 'end_sessions',
    text: 'update auth.users set session_version = session_version + 1 where organization = $1 and user_id = $2',
    values: [organization, userId],
  };
}

export function setPassword(organization: string, userId: string, passwordHash: string): Statement<UserRow> {
  return {
    name: 'set_password',
    row: USER,
    text: `update auth.users set password_hash = $3 where organization = $1 and user_id = $2 and erasing_at is null
      returning ${COLUMNS}`,
    values: [organization, userId, passwordHash],
  };
}

/** No row for a disabled user. Until the transaction ends, nobody can disable or delete the user or end their sessions. */
export function lockEnabledUser(organization: string, userId: string): Statement<{ sessionVersion: number }> {
  return {
    name: 'lock_enabled_user',
    row: { sessionVersion: column.integer },
    text: `select session_version as "sessionVersion" from auth.users
      where organization = $1 and user_id = $2 and disabled_at is null and erasing_at is null for share`,
    values: [organization, userId],
  };
}

const LIVE_USER = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  sessionVersion: column.integer,
  organizationName: column.text.orNull,
  ownTokens: column.boolean,
};
export type LiveUserRow = column.RowOf<typeof LIVE_USER>;

/** No row for a disabled user, once the deletion of the user or of the organization has begun, or while the organization is suspended. */
export function findLiveUser(organization: string, userId: string): Statement<LiveUserRow> {
  return {
    name: 'find_live_user',
    row: LIVE_USER,
    text: `select u.user_id as "userId", u.email, u.name, u.session_version as "sessionVersion", o.name as "organizationName",
        o.own_tokens as "ownTokens"
      from auth.users u join auth.organizations o using (organization)
      where u.organization = $1 and u.user_id = $2 and u.disabled_at is null and u.erasing_at is null
        and o.erasing_at is null and o.suspended_at is null`,
    values: [organization, userId],
  };
}

/** @param after the folded e-mail of the last user that was read */
export function exportUsers(organization: string, after: string): Statement<column.RowOf<typeof USER_BY_EMAIL>> {
  return {
    name: 'export_users',
    row: USER_BY_EMAIL,
    text: `select ${column.selectList(USER_BY_EMAIL)} from auth.users
      where organization = $1 and email_folded > $2 and erasing_at is null order by email_folded`,
    values: [organization, after],
  };
}

/** Leaves out users who don't exist or whose deletion has begun. */
export function findEmails(organization: string, userIds: string[]): Statement<{ userId: string; email: string }> {
  return {
    name: 'find_emails',
    row: { userId: column.uuid, email: column.text },
    text: `select user_id as "userId", email from auth.users
      where organization = $1 and user_id = any($2::uuid[]) and erasing_at is null`,
    values: [organization, userIds],
  };
}
