import type { Query, Statement } from '@crs/kit/data/database';
import { fold } from '@crs/kit/text';

export interface UserRow {
  userId: string;
  email: string;
  name: string | null;
  passwordHash: string | null;
  disabledAt: Date | null;
  createdAt: Date;
}

const COLUMNS = `user_id as "userId", email, name, password_hash as "passwordHash", disabled_at as "disabledAt", created_at as "createdAt"`;

export async function findUser(query: Query, organization: string, email: string): Promise<UserRow | undefined> {
  const [row] = await query<UserRow>({
    name: 'find_user',
    text: `select ${COLUMNS} from auth.users where organization = $1 and email_folded = $2 and erasing_at is null`,
    values: [organization, fold(email)],
  });
  return row;
}

/** In order of e-mail. */
export function listUsers(query: Query, organization: string): Promise<UserRow[]> {
  return query<UserRow>({
    name: 'list_users',
    text: `select ${COLUMNS} from auth.users where organization = $1 order by email_folded`,
    values: [organization],
  });
}

/** Those of the folded e-mails that are users, disabled ones too. */
export function findUsersByEmail(
  query: Query,
  organization: string,
  foldedEmails: string[],
): Promise<(Pick<UserRow, 'userId' | 'email' | 'name' | 'disabledAt'> & { emailFolded: string })[]> {
  return query({
    name: 'find_users_by_email',
    text: `select user_id as "userId", email, name, disabled_at as "disabledAt", email_folded as "emailFolded"
      from auth.users where organization = $1 and email_folded = any($2) and erasing_at is null`,
    values: [organization, foldedEmails],
  });
}

/** Those of the folded e-mails whose users have a password. */
export function findEmailsWithPassword(organization: string, foldedEmails: string[]) {
  return {
    name: 'find_emails_with_password',
    text: `select email_folded as "emailFolded" from auth.users
      where organization = $1 and email_folded = any($2) and password_hash is not null`,
    values: [organization, foldedEmails],
  };
}

export interface NewUser {
  email: string;
  name: string | null;
  passwordHash: string | null;
}

/** @returns undefined where the e-mail is taken */
export async function insertUser(query: Query, organization: string, user: NewUser): Promise<UserRow | undefined> {
  const [row] = await query<UserRow>({
    name: 'insert_user',
    text: `insert into auth.users (organization, user_id, email, email_folded, name, password_hash)
      values ($1, gen_random_uuid(), $2, $3, $4, $5) on conflict do nothing returning ${COLUMNS}`,
    values: [organization, user.email, fold(user.email), user.name, user.passwordHash],
  });
  return row;
}

/** A password that is there stays. */
export async function updateUser(query: Query, organization: string, userId: string, user: NewUser): Promise<void> {
  await query({
    name: 'update_user',
    text: 'update auth.users set email = $3, name = $4, password_hash = coalesce(password_hash, $5) where organization = $1 and user_id = $2',
    values: [organization, userId, user.email, user.name, user.passwordHash],
  });
}

/** @returns undefined where nobody has that e-mail */
export async function setUserDisabled(
  query: Query,
  organization: string,
  email: string,
  disabled: boolean,
): Promise<UserRow | undefined> {
  const [row] = await query<UserRow>({
    name: 'set_user_disabled',
    text: `update auth.users set disabled_at = case when $3 then coalesce(disabled_at, now()) end
      where organization = $1 and email_folded = $2 and erasing_at is null returning ${COLUMNS}`,
    values: [organization, fold(email), disabled],
  });
  return row;
}

export interface LiveUserRow {
  userId: string;
  email: string;
  name: string | null;
  organizationName: string | null;
}

/** Who may sign in: neither disabled nor being deleted, nor their organization. */
export function findLiveUser(organization: string, userId: string): Statement {
  return {
    name: 'find_live_user',
    text: `select u.user_id as "userId", u.email, u.name, o.name as "organizationName"
      from auth.users u join auth.organizations o using (organization)
      where u.organization = $1 and u.user_id = $2 and u.disabled_at is null and u.erasing_at is null and o.erasing_at is null`,
    values: [organization, userId],
  };
}
