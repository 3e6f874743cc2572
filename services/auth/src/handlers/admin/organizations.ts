import type { Query } from '@crs/kit/data/database';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { invalid, ServiceError } from '@crs/kit/errors';
import type { Organization } from '@crs/proto/crs/auth/v1/admin';
import { DEFAULT_ALLOWED_FIELDS } from '@crs/records/allowed-fields';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { changeAssertionIssuers, requireMayTrust } from '../../domain/assertion-issuers.ts';
import { changeOidcProvider, redirectUriOf, requireMayClaim } from '../../domain/oidc-provider.ts';
import { changesOf, parseSettings, type OidcProviderChange } from '../../domain/settings.ts';
import { setIssuers } from '../../store/assertion-issuers.ts';
import { setDomains } from '../../store/domain-directory.ts';
import { revokeManagedConsents } from '../../store/managed-consents.ts';
import {
  findOrganization,
  insertOrganization,
  listOrganizations,
  setSuspended,
  updateOrganization,
  type OrganizationRow,
} from '../../store/organizations.ts';
import { setsView, waitForViewCaches } from '../../view-settings.ts';
import { inTransaction, type Operation, type OperatorRpcs } from './operator-rpcs.ts';

export const organizations = {
  createOrganization: {
    access: { action: 'organization.create', roles: ['admin', 'manager'], token: 'one', bound: false },
    async handle({ settings }, operation) {
      const { organization, toolsUrl, transact } = operation;
      const change = parseSettings(settings);
      if (change.name === undefined) throw invalid('name', 'is required');
      const provider = changeOidcProvider(undefined, settings?.oidcProvider, encrypterOf(operation));
      const assertionIssuers = changeAssertionIssuers(undefined, settings?.assertionIssuers, provider.oidcIssuer);
      return transact(async (query, audit) => {
        const [inserted] = await query(insertOrganization(organization, { ...change, ...provider, assertionIssuers }));
        if (!inserted) {
          throw new ServiceError('already_exists', `An organization with this id exists. To change it, use "org update".`, {
            field: 'organization',
          });
        }
        await claimDomains(query, organization, provider);
        await claimIssuers(query, organization, assertionIssuers);
        const [created] = await query(findOrganization(organization));
        await audit('organization.create', organization, changesOf(undefined, created!, created!.oidcHasClientSecret));
        if (provider.oidcIssuer) await audit('organization.oidc', `${organization} ${provider.oidcIssuer}`);
        return { organization: toOrganization(created!, toolsUrl) };
      });
    },
  },
  updateOrganization: {
    access: { action: 'organization.update', roles: ['admin', 'manager'], token: 'one', bound: true },
    async handle({ settings }, operation) {
      const { organization, rights, toolsUrl, transact } = operation;
      const change = parseSettings(settings);
      const response = await transact(async (query, audit) => {
        const [before] = await query(findOrganization(organization));
        if (!before) throw noSuchOrganization();
        const provider = changeOidcProvider(before, settings?.oidcProvider, encrypterOf(operation));
        const { oidcIssuer = before.oidcIssuer } = provider;
        const assertionIssuers = changeAssertionIssuers(before, settings?.assertionIssuers, oidcIssuer);
        requireMayClaim(rights, before, provider);
        requireMayTrust(rights, before, { assertionIssuers });
        await claimDomains(query, organization, provider);
        await claimIssuers(query, organization, assertionIssuers);
        await updateOrganization(query, before, { ...change, ...provider, assertionIssuers });
        if (before.assertionIssuers.some((issuer) => assertionIssuers?.includes(issuer) === false))
          await query(revokeManagedConsents(organization));
        const [after] = await query(findOrganization(organization));
        const changes = changesOf(before, after!, settings?.oidcProvider?.clientSecret !== undefined);
        await audit('organization.update', organization, changes);
        // The provider decides who may sign in, so its change has an entry of its own.
        if (settings?.oidcProvider) await audit('organization.oidc', `${organization} ${after!.oidcIssuer ?? 'none'}`);
        return { organization: toOrganization(after!, toolsUrl) };
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

/** Returns the function that encrypts the client secret of the organization's provider. */
function encrypterOf({ encrypters, organization }: Operation) {
  return (clientSecret: string) => encrypters.organizations.encrypt(Buffer.from(clientSecret), organization);
}

/**
 * Does nothing if the change sets no domains.
 * @throws ServiceError already_exists, which names the organization that has a domain already. Other organizations may only be named to
 *   operators who may see them all; {@link requireMayClaim} refuses the others first.
 */
async function claimDomains(query: Query, organization: string, { oidcDomains }: OidcProviderChange): Promise<void> {
  if (oidcDomains === undefined) return;
  const taken = await setDomains(query, organization, oidcDomains ?? []);
  if (!taken) return;
  const { domain, organization: owner } = taken;
  const next = `To move it, remove it there first: "org update ${owner} --oidc-domains" with the other domains, or "--oidc-issuer none".`;
  throw new ServiceError('already_exists', `oidc_domains: ${domain} belongs to the organization ${owner}. ${next}`, {
    field: 'oidc_domains',
  });
}

/** Does nothing if the list doesn't change. @throws ServiceError already_exists, as {@link claimDomains} does */
async function claimIssuers(query: Query, organization: string, issuers: string[] | undefined): Promise<void> {
  const taken = issuers && (await setIssuers(query, organization, issuers));
  if (!taken) return;
  const next = `To move it, remove it there first: "org update ${taken.organization} --assertion-issuers" with the other issuers, or none.`;
  throw new ServiceError(
    'already_exists',
    `assertion_issuers: ${taken.issuer} belongs to the organization ${taken.organization}. ${next}`,
    { field: 'assertion_issuers' },
  );
}

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
