import type { Query } from '@crs/kit/data/database';

/** By which account of an OpenID provider a user signs in. */

export interface LinkedUserRow {
  userId: string;
  email: string;
  disabledAt: Date | null;
}

/** The user whom this account of the provider belongs to, disabled ones too. */
export async function findLinkedUser(
  query: Query,
  organization: string,
  issuer: string,
  subject: string,
): Promise<LinkedUserRow | undefined> {
  const [row] = await query<LinkedUserRow>({
    name: 'find_linked_user',
    text: `select u.user_id as "userId", u.email, u.disabled_at as "disabledAt"
      from auth.user_identities i join auth.users u using (organization, user_id)
      where i.organization = $1 and i.issuer = $2 and i.subject = $3 and u.erasing_at is null`,
    values: [organization, issuer, subject],
  });
  return row;
}

/** @returns false where the account or, at this provider, the user is linked already */
export async function insertIdentity(
  query: Query,
  organization: string,
  identity: { issuer: string; subject: string; userId: string },
): Promise<boolean> {
  const rows = await query({
    name: 'insert_identity',
    text: `insert into auth.user_identities (organization, issuer, subject, user_id) values ($1, $2, $3, $4)
      on conflict do nothing returning 1`,
    values: [organization, identity.issuer, identity.subject, identity.userId],
  });
  return rows.length > 0;
}

export async function deleteIdentities(query: Query, organization: string, userId: string): Promise<void> {
  await query({
    name: 'delete_identities',
    text: 'delete from auth.user_identities where organization = $1 and user_id = $2',
    values: [organization, userId],
  });
}
