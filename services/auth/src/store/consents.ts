import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';
import { endSessions } from './users.ts';

/**
 * Consents, in the table `auth.grants`: a user allows one client to read on their behalf. A consent's id is called `grantId`, as in access
 * tokens and in oidc-provider.
 */

const GRANT = {
  grantId: column.text,
  kind: column.text,
  clientId: column.text.orNull,
  client: column.text,
  redirectHosts: column.textArray,
  scopes: column.textArray,
  createdAt: column.timestamp,
  expiresAt: column.timestamp,
  revokedAt: column.timestamp.orNull,
  lastUsedAt: column.timestamp.orNull,
};
const CONSENT = { ...GRANT, email: column.text };
export type ConsentRow = column.RowOf<typeof CONSENT>;

const COLUMNS = `${column.selectList(GRANT, 'g')}, u.email`;

/**
 * How a grant came about: `oauth`: the user allowed a client; `operator`: `crs token create`; `own`: the user made a token; `managed`: the
 * organization's identity provider asserted the user's identity to a client.
 */
type GrantKind = 'oauth' | 'operator' | 'own' | 'managed';

interface NewConsent extends Pick<ConsentRow, 'grantId' | 'client' | 'scopes'> {
  kind: GrantKind;
  /** Where a client may send codes to. */
  redirectHosts?: string[];
  /** The OAuth client; null if the grant is one token, of kind `operator` or `own`. */
  clientId: string | null;
  userId: string;
  expiresInSeconds: number;
}

export function insertConsent(organization: string, consent: NewConsent): Statement<ConsentRow> {
  return {
    name: 'insert_grant',
    row: CONSENT,
    text: `with g as (
        insert into auth.grants (organization, grant_id, user_id, client, scopes, expires_at, kind, client_id, redirect_hosts)
        values ($1, $2, $3, $4, $5, date_trunc('second', now()) + $6::bigint * interval '1 second', $7, $8, $9) returning *
      ) select ${COLUMNS} from g join auth.users u using (organization, user_id)`,
    values: [
      organization,
      consent.grantId,
      consent.userId,
      consent.client,
      consent.scopes,
      consent.expiresInSeconds,
      consent.kind,
      consent.clientId,
      consent.redirectHosts ?? [],
    ],
  };
}

export function listConsents(organization: string): Statement<ConsentRow> {
  return {
    name: 'list_grants',
    row: CONSENT,
    text: `select ${COLUMNS} from auth.grants g join auth.users u using (organization, user_id)
      where g.organization = $1 order by g.created_at desc, g.grant_id`,
    values: [organization],
  };
}

/** A user's consents that are neither revoked nor expired. */
export function listConsentsOfUser(organization: string, userId: string): Statement<ConsentRow> {
  return {
    name: 'list_grants_of_user',
    row: CONSENT,
    text: `select ${COLUMNS} from auth.grants g join auth.users u using (organization, user_id)
      where g.organization = $1 and g.user_id = $2 and g.revoked_at is null and g.expires_at > now()
      order by g.created_at desc, g.grant_id`,
    values: [organization, userId],
  };
}

/** Also deletes what oidc-provider stores under the consent. @returns undefined if the consent doesn't exist */
export async function revokeConsent(query: Query, organization: string, grantId: string): Promise<ConsentRow | undefined> {
  const [row] = await query({
    name: 'revoke_grant',
    row: CONSENT,
    text: `with g as (
        update auth.grants set revoked_at = least(revoked_at, now()) where organization = $1 and grant_id = $2 returning *
      ) select ${COLUMNS} from g join auth.users u using (organization, user_id)`,
    values: [organization, grantId],
  });
  if (row) await query({ name: 'forget_grant', text: 'delete from auth.oidc_payloads where grant_id = $1', values: [grantId] });
  return row;
}

/** Revokes all consents of a user, including tokens of `crs token create`. @returns how many were live */
export async function revokeConsentsOfUser(query: Query, organization: string, userId: string): Promise<number> {
  const revoked = await query({
    name: 'revoke_grants_of_user',
    row: { grantId: column.text, wasLive: column.boolean },
    text: `update auth.grants set revoked_at = now() where organization = $1 and user_id = $2 and revoked_at is null
      returning grant_id as "grantId", expires_at > revoked_at as "wasLive"`,
    values: [organization, userId],
  });
  const ids = revoked.map(({ grantId }) => grantId);
  await query({ name: 'forget_grants', text: 'delete from auth.oidc_payloads where grant_id = any($1)', values: [ids] });
  return revoked.filter(({ wasLive }) => wasLive).length;
}

/** Ends the tokens that users of the organization made for themselves. */
export async function revokeOwnTokens(query: Query, organization: string): Promise<void> {
  await query({
    name: 'revoke_own_tokens',
    text: `update auth.grants set revoked_at = now() where organization = $1 and kind = 'own' and revoked_at is null`,
    values: [organization],
  });
}

/** Ends the user's browser sessions and consents. @returns how many consents were live */
export async function endAccess(query: Query, organization: string, userId: string): Promise<number> {
  await query(endSessions(organization, userId));
  return revokeConsentsOfUser(query, organization, userId);
}

/** Writes at most once a minute, however many replicas see the consent used. */
export function touchConsent(organization: string, grantId: string): Statement {
  return {
    name: 'touch_grant',
    text: `update auth.grants set last_used_at = now()
      where organization = $1 and grant_id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    values: [organization, grantId],
  };
}

/**
 * Whether organization `o` admits a client, by the client's id. The host of a metadata document is between the slashes after `https:` and the
 * next one. No other form of URL passes for it: another letter case, credentials or a default port make it another text.
 */
const admits = (clientId: string) => `(o.clients = 'any' or starts_with(${clientId}, 'client_')
  or starts_with(${clientId}, 'https://') and split_part(${clientId}, '/', 3) = any(o.client_hosts))`;

/** Whether the organization's setting `clients` admits a client. No row if the organization doesn't exist. */
export function admitsClient(organization: string, clientId: string): Statement<{ isAdmitted: boolean }> {
  return {
    name: 'admits_client',
    row: { isAdmitted: column.boolean },
    text: `select ${admits('$2::text')} as "isAdmitted" from auth.organizations o where o.organization = $1`,
    values: [organization, clientId],
  };
}

const LIVE_CONSENT = {
  userId: column.uuid,
  scopes: column.textArray,
  usageIsStale: column.boolean,
  toolRateLimitRequests: column.integer,
  toolRateLimitPeriodSeconds: column.integer,
};

/**
 * No row once the consent is revoked or expired, its user disabled, or the deletion of its user or organization has begun, and while the
 * organization is suspended or doesn't admit its client.
 */
export function findLiveConsent(organization: string, grantId: string): Statement<column.RowOf<typeof LIVE_CONSENT>> {
  return {
    name: 'find_live_grant',
    row: LIVE_CONSENT,
    text: `select g.user_id as "userId", g.scopes, (g.last_used_at is null or g.last_used_at < now() - interval '1 minute') as "usageIsStale",
        o.tool_rate_limit_requests as "toolRateLimitRequests", o.tool_rate_limit_period_seconds as "toolRateLimitPeriodSeconds"
      from auth.grants g join auth.users u using (organization, user_id) join auth.organizations o using (organization)
      where g.organization = $1 and g.grant_id = $2 and g.revoked_at is null and g.expires_at > now()
        and u.disabled_at is null and u.erasing_at is null and o.erasing_at is null and o.suspended_at is null
        and (g.client_id is null or ${admits('g.client_id')})`,
    values: [organization, grantId],
  };
}
