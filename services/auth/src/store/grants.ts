import type { Query, Statement } from '@crs/kit/data/database';

export interface GrantRow {
  grantId: string;
  email: string;
  client: string;
  scopes: string[];
  createdAt: Date;
  expiresAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

const COLUMNS = `g.grant_id as "grantId", u.email, g.client, g.scopes, g.created_at as "createdAt", g.expires_at as "expiresAt",
  g.revoked_at as "revokedAt", g.last_used_at as "lastUsedAt"`;

export interface NewGrant {
  grantId: string;
  userId: string;
  client: string;
  scopes: string[];
  expiresInSeconds: number;
}

export async function insertGrant(query: Query, organization: string, grant: NewGrant): Promise<GrantRow> {
  const [row] = await query<GrantRow>({
    name: 'insert_grant',
    text: `with g as (
        insert into auth.grants (organization, grant_id, user_id, client, scopes, expires_at)
        values ($1, $2, $3, $4, $5, date_trunc('second', now()) + $6::bigint * interval '1 second') returning *
      ) select ${COLUMNS} from g join auth.users u using (organization, user_id)`,
    values: [organization, grant.grantId, grant.userId, grant.client, grant.scopes, grant.expiresInSeconds],
  });
  return row!;
}

/** Newest first. */
export function listGrants(query: Query, organization: string): Promise<GrantRow[]> {
  return query<GrantRow>({
    name: 'list_grants',
    text: `select ${COLUMNS} from auth.grants g join auth.users u using (organization, user_id)
      where g.organization = $1 order by g.created_at desc, g.grant_id`,
    values: [organization],
  });
}

/** Those of a user that are good, newest first. */
export function listGrantsOfUser(organization: string, userId: string): Statement {
  return {
    name: 'list_grants_of_user',
    text: `select ${COLUMNS} from auth.grants g join auth.users u using (organization, user_id)
      where g.organization = $1 and g.user_id = $2 and g.revoked_at is null and g.expires_at > now()
      order by g.created_at desc, g.grant_id`,
    values: [organization, userId],
  };
}

/** With what the authorization server keeps of it. @returns undefined where there is no such grant */
export async function revokeGrant(query: Query, organization: string, grantId: string): Promise<GrantRow | undefined> {
  const [row] = await query<GrantRow>({
    name: 'revoke_grant',
    text: `with g as (
        update auth.grants set revoked_at = coalesce(revoked_at, now()) where organization = $1 and grant_id = $2 returning *
      ) select ${COLUMNS} from g join auth.users u using (organization, user_id)`,
    values: [organization, grantId],
  });
  if (row) await query({ name: 'forget_grant', text: 'delete from auth.oidc_payloads where grant_id = $1', values: [grantId] });
  return row;
}

/** At most one write a minute, however many replicas see it used. */
export function touchGrant(organization: string, grantId: string): Statement {
  return {
    name: 'touch_grant',
    text: `update auth.grants set last_used_at = now()
      where organization = $1 and grant_id = $2 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    values: [organization, grantId],
  };
}

export interface LiveGrantRow {
  userId: string;
  scopes: string[];
  useIsNews: boolean;
  toolRateLimitRequests: number;
  toolRateLimitPeriodSeconds: number;
}

/** The grant with whose it is, while it is good: not revoked or expired, its user enabled, its organization there. */
export function findLiveGrant(organization: string, grantId: string): Statement {
  return {
    name: 'find_live_grant',
    text: `select g.user_id as "userId", g.scopes, (g.last_used_at is null or g.last_used_at < now() - interval '1 minute') as "useIsNews",
        o.tool_rate_limit_requests as "toolRateLimitRequests", o.tool_rate_limit_period_seconds as "toolRateLimitPeriodSeconds"
      from auth.grants g join auth.users u using (organization, user_id) join auth.organizations o using (organization)
      where g.organization = $1 and g.grant_id = $2 and g.revoked_at is null and g.expires_at > now()
        and u.disabled_at is null and u.erasing_at is null and o.erasing_at is null`,
    values: [organization, grantId],
  };
}
