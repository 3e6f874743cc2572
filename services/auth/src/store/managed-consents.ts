import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import type { ConsentRow } from './consents.ts';

/** Grants of kind `managed`, in the table `auth.grants`: identity assertions give them, one for a user and client. */

interface ManagedConsent extends Pick<ConsentRow, 'grantId' | 'client' | 'scopes' | 'expiresAt'> {
  clientId: string;
  userId: string;
}

/**
 * Renews the grant that an identity assertion gives a client for a user, or inserts it. A revoked grant comes back under the new id, so that
 * its earlier tokens stay refused.
 * @returns the grant's id: the new one if the grant begins or comes back
 */
export function putManagedConsent(organization: string, consent: ManagedConsent): Statement<{ grantId: string }> {
  const unlessRevoked = (kept: string, column: string) =>
    `${column} = case when g.revoked_at is null then ${kept} else excluded.${column} end`;
  return {
    name: 'put_managed_grant',
    row: { grantId: column.text },
    text: `insert into auth.grants as g (organization, grant_id, user_id, kind, client_id, client, scopes, expires_at)
      values ($1, $2, $3, 'managed', $4, $5, $6, $7)
      on conflict (organization, user_id, client_id) where kind = 'managed' do update set
        ${unlessRevoked('g.grant_id', 'grant_id')}, ${unlessRevoked('g.created_at', 'created_at')},
        ${unlessRevoked('greatest(g.expires_at, excluded.expires_at)', 'expires_at')},
        client = excluded.client, scopes = excluded.scopes, revoked_at = null
      returning grant_id as "grantId"`,
    values: [organization, consent.grantId, consent.userId, consent.clientId, consent.client, consent.scopes, consent.expiresAt],
  };
}

/** Ends all grants of the organization that identity assertions gave. Those of issuers that are still listed come back with the next one. */
export function revokeManagedConsents(organization: string): Statement {
  return {
    name: 'revoke_managed_grants',
    text: `update auth.grants set revoked_at = now() where organization = $1 and kind = 'managed' and revoked_at is null`,
    values: [organization],
  };
}
