import type { Query } from '@crs/kit/data/database';
import { ServiceError } from '@crs/kit/errors';
import type { OperatorRights } from '@crs/kit/rpc/operators';
import type { AssertionIssuers, OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import { changeAssertionIssuers, requireMayTrust } from './domain/assertion-issuers.ts';
import { changeOidcProvider, requireMayClaim } from './domain/oidc-provider.ts';
import { changesOf, type OidcProviderChange, type OrganizationChange, type SettingChanges } from './domain/settings.ts';
import type { Encrypters } from './keys/encrypters.ts';
import { setIssuers } from './store/assertion-issuers.ts';
import { setDomains } from './store/domain-directory.ts';
import { revokeManagedConsents } from './store/managed-consents.ts';
import { findOrganization, insertOrganization, updateOrganization, type OrganizationRow } from './store/organizations.ts';

/** New settings of an organization. Absent ones are unchanged. */
export interface NewSettings {
  change: OrganizationChange;
  oidcProvider?: OidcProviderSettings | undefined;
  assertionIssuers?: AssertionIssuers | undefined;
}

/** The operator's access, and the organization that its token names. */
interface Operator {
  organization: string;
  rights: OperatorRights;
  encrypters: Encrypters;
}

/** @returns the organization, and its settings for the audit trail; undefined if the id is taken */
export async function createOrganization(
  query: Query,
  { organization, encrypters }: Operator,
  settings: NewSettings,
): Promise<{ created: OrganizationRow; changes: SettingChanges } | undefined> {
  const provider = changeOidcProvider(undefined, settings.oidcProvider, encrypterOf(organization, encrypters));
  const assertionIssuers = changeAssertionIssuers(undefined, settings.assertionIssuers, provider.oidcIssuer);
  const [inserted] = await query(insertOrganization(organization, { ...settings.change, ...provider, assertionIssuers }));
  if (!inserted) return undefined;
  await claimDomains(query, organization, provider);
  await claimIssuers(query, organization, assertionIssuers);
  const [created] = await query(findOrganization(organization));
  return { created: created!, changes: changesOf(undefined, created!, created!.oidcHasClientSecret) };
}

/** @param before as `findOrganization` read and locked it @returns the organization, and the changes for the audit trail */
export async function changeOrganization(
  query: Query,
  { organization, rights, encrypters }: Operator,
  before: OrganizationRow,
  settings: NewSettings,
): Promise<{ after: OrganizationRow; changes: SettingChanges }> {
  const provider = changeOidcProvider(before, settings.oidcProvider, encrypterOf(organization, encrypters));
  const { oidcIssuer = before.oidcIssuer } = provider;
  const assertionIssuers = changeAssertionIssuers(before, settings.assertionIssuers, oidcIssuer);
  requireMayClaim(rights, before, provider);
  requireMayTrust(rights, before, { assertionIssuers });
  await claimDomains(query, organization, provider);
  await claimIssuers(query, organization, assertionIssuers);
  await updateOrganization(query, before, { ...settings.change, ...provider, assertionIssuers });
  if (before.assertionIssuers.some((issuer) => assertionIssuers?.includes(issuer) === false))
    await query(revokeManagedConsents(organization));
  const [after] = await query(findOrganization(organization));
  return { after: after!, changes: changesOf(before, after!, settings.oidcProvider?.clientSecret !== undefined) };
}

/** Returns the function that encrypts the client secret of the organization's provider. */
function encrypterOf(organization: string, encrypters: Encrypters) {
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
