import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import type { Organization } from '@crs/proto/crs/auth/v1/admin';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { changeOrganization, createOrganization } from '../../change-organization.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { redirectUriOf } from '../../domain/oidc-provider.ts';
import { parseSettings } from '../../domain/settings.ts';
import { findOrganization, listOrganizations, setSuspended, type OrganizationRow } from '../../store/organizations.ts';
import { setsView, waitForViewCaches } from '../../view-settings.ts';
import { inTransaction, type OperatorRpcs } from './operator-rpcs.ts';

export const organizations = {
  createOrganization: {
    access: { action: 'organization.create', roles: ['admin', 'manager'], token: 'one', bound: false },
    async handle({ settings }, operation) {
      const { organization, toolsUrl, transact } = operation;
      const change = parseSettings(settings);
      if (change.name === undefined) throw invalid('name', 'is required');
      return transact(async (query, audit) => {
        const result = await createOrganization(query, operation, { ...settings, change });
        if (!result) {
          throw new ServiceError('already_exists', `An organization with this id exists. To change it, use "org update".`, {
            field: 'organization',
          });
        }
        const { created, changes } = result;
        await audit('organization.create', organization, changes);
        if (created.oidcIssuer) await audit('organization.oidc', `${organization} ${created.oidcIssuer}`);
        return { organization: toOrganization(created, toolsUrl) };
      });
    },
  },
  updateOrganization: {
    access: { action: 'organization.update', roles: ['admin', 'manager'], token: 'one', bound: true },
    async handle({ settings }, operation) {
      const { organization, toolsUrl, transact } = operation;
      const change = parseSettings(settings);
      const response = await transact(async (query, audit) => {
        const [before] = await query(findOrganization(organization));
        if (!before) throw noSuchOrganization();
        const { after, changes } = await changeOrganization(query, operation, before, { ...settings, change });
        await audit('organization.update', organization, changes);
        // The provider decides who may sign in, so its change has an entry of its own.
        if (settings?.oidcProvider) await audit('organization.oidc', `${organization} ${after.oidcIssuer ?? 'none'}`);
        return { organization: toOrganization(after, toolsUrl) };
      });
      if (setsView(change)) await waitForViewCaches();
      return response;
    },
  },
  setOrganizationSuspended: {
    access: { action: 'organization.suspend', roles: ['admin', 'manager'], token: 'one', bound: true },
    handle: inTransaction(async ({ suspended }, { organization, toolsUrl, query, audit }) => {
      const [row] = await query(setSuspended(organization, suspended));
      if (!row) throw noSuchOrganization();
      await audit(suspended ? 'organization.suspend' : 'organization.resume', organization);
      return { organization: toOrganization(row, toolsUrl) };
    }),
  },
  getOrganization: {
    access: { action: 'organization.get', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
    async handle(_request, { db, scope, organization, toolsUrl }) {
      const [row] = await db.read(scope, listOrganizations([organization]));
      if (!row) throw noSuchOrganization();
      return { organization: toOrganization(row, toolsUrl) };
    },
  },
  listOrganizations: {
    access: { action: 'organization.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'none', bound: true },
    async handle(_request, { db, scope, toolsUrl, rights }) {
      const ids = rights.organizations.length > 0 ? rights.organizations : EVERY_ORGANIZATION;
      const rows = await db.read(scope, listOrganizations(ids));
      return { organizations: rows.map((row) => toOrganization(row, toolsUrl)) };
    },
  },
} satisfies Partial<OperatorRpcs>;

function toOrganization(row: OrganizationRow, toolsUrl: string): Organization {
  return {
    organizationId: row.organization,
    name: row.name ?? '',
    writeSurface: row.writeSurface,
    anonymizeInterviewees: row.anonymizeInterviewees,
    allowedFields: { default: row.allowedFields === null, fields: row.allowedFields ?? [...DEFAULT_ALLOWED_FIELDS] },
    rateLimit: { requests: row.rateLimitRequests, periodSeconds: row.rateLimitPeriodSeconds },
    toolRateLimit: { requests: row.toolRateLimitRequests, periodSeconds: row.toolRateLimitPeriodSeconds },
    deleteLimit: row.deleteLimit,
    retainCalls: row.retainCalls,
    retainBy: row.retainBy,
    retainPerDay: row.retainPerDay,
    clients: row.clients,
    clientHosts: row.clientHosts,
    ownTokens: row.ownTokens,
    createdAt: row.createdAt,
    suspendedAt: row.suspendedAt ?? undefined,
    oidcProvider:
      row.oidcIssuer === null
        ? undefined
        : {
            issuer: row.oidcIssuer,
            clientId: row.oidcClientId!,
            hasClientSecret: row.oidcHasClientSecret,
            domains: row.oidcDomains!,
            emailProof: row.oidcEmailProof!,
          },
    oidcRedirectUri: redirectUriOf(toolsUrl, row.organization),
    assertionIssuers: row.assertionIssuers,
  };
}
