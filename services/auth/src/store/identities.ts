import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const LINKED_USER = {
  userId: column.uuid,
  email: column.text,
  disabledAt: column.timestamp.orNull,
  sessionVersion: column.integer,
};

/** The user whose account at an OpenID provider this is, even a disabled one. */
export function findLinkedUser(
  organization: string,
  issuer: string,
  subject: string,
): Statement<column.RowOf<typeof LINKED_USER>> {
  return {
    name: 'find_linked_user',
    row: LINKED_USER,
    text: `select ${column.selectList(LINKED_USER, 'u')}
      from auth.user_identities i join auth.users u using (organization, user_id)
      where i.organization = $1 and i.issuer = $2 and i.subject = $3 and u.erasing_at is null`,
    values: [organization, issuer, subject],
  };
}

/** No row if the account is linked to a user already, or the user is linked to another account of this provider. */
export function insertIdentity(
  organization: string,
  identity: { issuer: string; subject: string; userId: string },
): Statement<{ userId: string }> {
  return {
    name: 'insert_identity',
    row: { userId: column.uuid },
    text: `insert into auth.user_identities (organization, issuer, subject, user_id) values ($1, $2, $3, $4)
      on conflict do nothing returning user_id as "userId"`,
    values: [organization, identity.issuer, identity.subject, identity.userId],
  };
}

export function deleteIdentities(organization: string, userId: string): Statement {
  return {
    name: 'delete_identities',
    text: 'delete from auth.user_identities where organization = $1 and user_id = $2',
    values: [organization, userId],
  };
}
