import type { Query } from '@crs/kit/data/database';
import { noSuchOrganization } from '../domain/not-found.ts';
import { listKeyDigests } from '../store/api-keys.ts';
import { listGroupMaps } from '../store/group-maps.ts';
import { findOrganization, type OrganizationRow } from '../store/organizations.ts';
import { listScimTokenDigests } from '../store/scim-tokens.ts';
import { isLive } from './credentials.ts';

/**
 * Returns an organization as `crs apply` reads it: all its settings, so that they don't depend on the defaults of another version, and no
 * secrets and users.
 * @throws ServiceError not_found
 */
export async function exportTenant(query: Query, organization: string): Promise<object> {
  const [row] = await query(findOrganization(organization));
  if (!row) throw noSuchOrganization();
  const keys = await query(listKeyDigests(organization));
  const tokens = await query(listScimTokenDigests(organization));
  const maps = await query(listGroupMaps(organization));
  return {
    id: organization,
    ...(row.name !== null && { name: row.name }),
    ...settingsOf(row),
    keys: keys.filter(isLive).map(({ label, digest, rights, networks, expiresAt }) => ({
      label,
      sha256: digest.toString('hex'),
      rights,
      networks,
      expires_at: expiresAt,
    })),
    scim_tokens: tokens
      .filter(({ revokedAt }) => revokedAt === null)
      .map(({ label, digest }) => ({ label, sha256: digest.toString('hex') })),
    group_maps: maps.map(({ group, projectId, role }) => ({ group, project_id: projectId, role })),
  };
}

function settingsOf(row: OrganizationRow): object {
  return {
    write_surface: row.writeSurface,
    anonymize_interviewees: row.anonymizeInterviewees,
    allowed_fields: row.allowedFields ?? 'default',
    rate_limit: { requests: row.rateLimitRequests, period_seconds: row.rateLimitPeriodSeconds },
    tool_rate_limit: { requests: row.toolRateLimitRequests, period_seconds: row.toolRateLimitPeriodSeconds },
    delete_limit: row.deleteLimit,
    retain_calls: row.retainCalls,
    retain_by: row.retainBy,
    retain_per_day: row.retainPerDay,
    clients: row.clients,
    client_hosts: row.clientHosts,
    own_tokens: row.ownTokens,
    ...(row.oidcIssuer !== null && {
      oidc: {
        issuer: row.oidcIssuer,
        client_id: row.oidcClientId,
        domains: row.oidcDomains,
        email_proof: row.oidcEmailProof,
      },
    }),
    assertion_issuers: row.assertionIssuers,
  };
}
