import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';

const USER = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  passwordHash: column.text.orNull,
  disabledAt: column.instant.orNull,
  createdAt: column.instant,
};
export type UserRow = column.RowOf<typeof USER>;

const COLUMNS = column.selectList(USER);

/** Disabled users included. */
export function findUser(organization: string, email: string): Statement<UserRow> {
  return {
    name: 'find_user',
    row: USER,
    text: `select ${COLUMNS} from auth.users where organization = $1 and email_folded = $2 and erasing_at is null`,
    values: [organization, fold(email)],
  };
}

/** In order of e-mail. */
export function listUsers(organization: string): Statement<UserRow> {
  return {
    name: 'list_users',
    row: USER,
    text: `select ${COLUMNS} from auth.users where organization = $1 order by email_folded`,
    values: [organization],
  };
}

const USER_BY_EMAIL = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  disabledAt: column.instant.orNull,
  emailFolded: column.text,
};
const FIND_USERS_BY_EMAIL = `select ${column.selectList(USER_BY_EMAIL)}
  from auth.users where organization = $1 and email_folded = any($2) and erasing_at is null`;

/** The users who have one of these folded e-mails, disabled users included. */
export function findUsersByEmail(organization: string, foldedEmails: string[]): Statement<column.RowOf<typeof USER_BY_EMAIL>> {
  return { name: 'find_users_by_email', row: USER_BY_EMAIL, text: FIND_USERS_BY_EMAIL, values: [organization, foldedEmails] };
}

/** Those of the folded e-mails whose users have a password. */
export function findEmailsWithPassword(organization: string, foldedEmails: string[]): Statement<{ emailFolded: string }> {
  return {
    name: 'find_emails_with_password',
    row: { emailFolded: column.text },
    text: `select email_folded as "emailFolded" from auth.users
      where organization = $1 and email_folded = any($2) and password_hash is not null`,
    values: [organization, foldedEmails],
  };
}

export type NewUser = Pick<UserRow, 'email' | 'name' | 'passwordHash'>;

/** No row where the e-mail is taken. */
export function insertUser(organization: string, user: NewUser): Statement<UserRow> {
  return {
    name: 'insert_user',
    row: USER,
    text: `insert into auth.users (organization, user_id, email, email_folded, name, password_hash)
      values ($1, gen_random_uuid(), $2, $3, $4, $5) on conflict do nothing returning ${COLUMNS}`,
    values: [organization, user.email, fold(user.email), user.name, user.passwordHash],
  };
}

/** Sets the password only where the user has none. */
export function updateUser(organization: string, userId: string, user: NewUser): Statement {
  return {
    name: 'update_user',
    text: 'update auth.users set email = $3, name = $4, password_hash = coalesce(password_hash, $5) where organization = $1 and user_id = $2',
    values: [organization, userId, user.email, user.name, user.passwordHash],
  };
}

/** No row where nobody has this e-mail. */
export function setUserDisabled(organization: string, email: string, disabled: boolean): Statement<UserRow> {
  return {
    name: 'set_user_disabled',
    row: USER,
    text: `update auth.users set disabled_at = case when $3 then coalesce(disabled_at, now()) end
      where organization = $1 and email_folded = $2 and erasing_at is null returning ${COLUMNS}`,
    values: [organization, fold(email), disabled],
  };
}

const LIVE_USER = {
  userId: column.uuid,
  email: column.text,
  name: column.text.orNull,
  organizationName: column.text.orNull,
};
export type LiveUserRow = column.RowOf<typeof LIVE_USER>;

/** A user who may sign in: no row for a disabled user, or once the deletion of the user or of the organization has begun. */
export function findLiveUser(organization: string, userId: string): Statement<LiveUserRow> {
  return {
    name: 'find_live_user',
    row: LIVE_USER,
    text: `select u.user_id as "userId", u.email, u.name, o.name as "organizationName"
      from auth.users u join auth.organizations o using (organization)
      where u.organization = $1 and u.user_id = $2 and u.disabled_at is null and u.erasing_at is null and o.erasing_at is null`,
    values: [organization, userId],
  };
}
