import { fold, isEmail, unstorable } from '@crs/kit/text';
import { findDomainOwner } from '../store/domain-directory.ts';
import { findOidcProvider } from '../store/oidc-providers.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';

/**
 * The organization that the domain of this e-mail belongs to, or else the default one. Empty: the page has to ask for the organization.
 *
 * The default organization stands in only while it signs its users in with passwords. If it has a provider, its domains name its people,
 * and nobody else may be sent there. Accounts are never looked up: the page would tell an unauthenticated client who has one.
 */
export async function organizationOf({ db, defaultOrganization }: SignInContext, email: string): Promise<string> {
  if (!isAddress(email)) return '';
  const [owner] = await db.read(directoryScopeNow(), findDomainOwner(fold(email).split('@')[1]!));
  if (owner) return owner.organization;
  if (defaultOrganization === undefined) return '';
  const [provider] = await db.read(credentialScopeNow(defaultOrganization), findOidcProvider(defaultOrganization));
  return provider ? '' : defaultOrganization;
}

export function isAddress(email: string): boolean {
  return isEmail(email) && unstorable(email) === undefined;
}
