import type { Query } from '@crs/kit/data/database';
import { domainTaken } from '../../domain/oidc-provider.ts';
import type { OidcProviderChange } from '../../domain/settings.ts';
import { setDomains } from '../../store/domain-directory.ts';

/** Makes the domains of a changed provider the organization's. @throws ServiceError already_exists if another organization has one of them */
export async function claimDomains(query: Query, organization: string, { oidcDomains }: OidcProviderChange): Promise<void> {
  if (oidcDomains === undefined) return;
  const taken = await setDomains(query, organization, oidcDomains ?? []);
  if (taken) throw domainTaken(taken);
}
