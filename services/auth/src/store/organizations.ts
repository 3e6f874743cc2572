import type { Query } from '@crs/kit/data/database';
import { built, sql } from '@crs/kit/data/sql';

export interface OrganizationRow {
  organization: string;
  name: string | null;
  writeSurface: boolean;
  anonymizeInterviewees: boolean;
  /** Null: the default set. */
  allowedFields: string[] | null;
  rateLimitRequests: number;
  rateLimitPeriodSeconds: number;
  toolRateLimitRequests: number;
  toolRateLimitPeriodSeconds: number;
  /** Null: users sign in with passwords. */
  oidcIssuer: string | null;
  oidcClientId: string | null;
  oidcHasClientSecret: boolean;
  oidcDomains: string[] | null;
  createdAt: Date;
}

/** Settings to write; what is undefined stays. */
export type OrganizationChange = Partial<
  Omit<OrganizationRow, 'organization' | 'createdAt' | 'oidcHasClientSecret'> & { oidcClientSecretSealed: Buffer | null }
>;

export const ORGANIZATION_COLUMNS = `organization, name, write_surface as "writeSurface", anonymize_interviewees as "anonymizeInterviewees",
  allowed_fields as "allowedFields", rate_limit_requests as "rateLimitRequests", rate_limit_period_seconds as "rateLimitPeriodSeconds",
  tool_rate_limit_requests as "toolRateLimitRequests", tool_rate_limit_period_seconds as "toolRateLimitPeriodSeconds",
  oidc_issuer as "oidcIssuer", oidc_client_id as "oidcClientId", oidc_client_secret_sealed is not null as "oidcHasClientSecret",
  oidc_domains as "oidcDomains", created_at as "createdAt"`;

export async function findOrganization(query: Query, organization: string): Promise<OrganizationRow | undefined> {
  const [row] = await query<OrganizationRow>({
    name: 'find_organization',
    text: `select ${ORGANIZATION_COLUMNS} from auth.organizations where organization = $1 and erasing_at is null for no key update`,
    values: [organization],
  });
  return row;
}

export async function organizationExists(query: Query, organization: string): Promise<boolean> {
  const rows = await query({
    name: 'organization_exists',
    text: 'select 1 from auth.organizations where organization = $1 and erasing_at is null',
    values: [organization],
  });
  return rows.length > 0;
}

/** By id. Needs the scope above tenants. */
export function listOrganizations(query: Query): Promise<OrganizationRow[]> {
  return query<OrganizationRow>({
    name: 'list_organizations',
    text: `select ${ORGANIZATION_COLUMNS} from auth.organizations order by organization`,
  });
}

/** @returns false where the id is taken */
export async function insertOrganization(query: Query, organization: string, change: OrganizationChange): Promise<boolean> {
  const insert = sql('auth.organizations')
    .insert({ organization, ...columnsOf(change) })
    .onConflict()
    .ignore()
    .returning('organization');
  return (await query(built('insert_organization', insert))).length > 0;
}

export async function updateOrganization(query: Query, organization: string, change: OrganizationChange): Promise<void> {
  const columns = columnsOf(change);
  if (Object.keys(columns).length === 0) return;
  await query(built('update_organization', sql('auth.organizations').where({ organization, erasing_at: null }).update(columns)));
}

function columnsOf(change: OrganizationChange): Record<string, unknown> {
  const columns = {
    name: change.name,
    write_surface: change.writeSurface,
    anonymize_interviewees: change.anonymizeInterviewees,
    allowed_fields: change.allowedFields,
    rate_limit_requests: change.rateLimitRequests,
    rate_limit_period_seconds: change.rateLimitPeriodSeconds,
    tool_rate_limit_requests: change.toolRateLimitRequests,
    tool_rate_limit_period_seconds: change.toolRateLimitPeriodSeconds,
    oidc_issuer: change.oidcIssuer,
    oidc_client_id: change.oidcClientId,
    oidc_client_secret_sealed: change.oidcClientSecretSealed,
    oidc_domains: change.oidcDomains,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}
