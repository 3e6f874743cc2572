import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import type { OperatorRights } from '@crs/kit/rpc/operators';
import type { OidcProviderSettings } from '@crs/proto/crs/auth/v1/admin';
import { requireText, type OidcProviderChange } from './settings.ts';

export const MAX_DOMAINS = 100;
/** What proves that an e-mail address belongs to the person who signs in. */
export type EmailProof = (typeof EMAIL_PROOFS)[number];
export const EMAIL_PROOFS = ['claim', 'xms_edov', 'issuer'] as const;

const ENTRA_HOST = /^(login\.microsoftonline\.(com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)$/;
/** Issuers of Microsoft Entra ID for accounts of any organization, and for personal accounts. */
const ANY_TENANT = /^\/(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)(\/|$)/i;

const DOMAIN = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const NO_PROVIDER = {
  oidcIssuer: null,
  oidcClientId: null,
  oidcClientSecretEncrypted: null,
  oidcDomains: null,
  oidcEmailProof: null,
};

/**
 * @param before the organization's stored provider; undefined for a new organization
 * @returns what to store; empty if nothing changes
 * @throws ServiceError invalid_argument that names the bad or missing setting
 */
export function changeOidcProvider(
  before:
    | { oidcIssuer: string | null; oidcClientId: string | null; oidcDomains: string[] | null; oidcEmailProof: string | null }
    | undefined,
  settings: OidcProviderSettings | undefined,
  encrypt: (clientSecret: string) => Buffer,
): OidcProviderChange {
  if (!settings) return {};
  if (settings.issuer === '') return NO_PROVIDER;
  const oidcIssuer = settings.issuer === undefined ? before?.oidcIssuer : parseIssuer('oidc_issuer', settings.issuer);
  if (!oidcIssuer) throw invalid('oidc_issuer', 'is required, as there is no OpenID provider yet');
  const isNewIssuer = oidcIssuer !== before?.oidcIssuer;

  const clientId = settings.clientId === undefined ? undefined : requireText('oidc_client_id', settings.clientId, 1, 500);
  const oidcClientId = clientId ?? (isNewIssuer ? undefined : before.oidcClientId);
  if (!oidcClientId) throw invalid('oidc_client_id', 'is required with another issuer');

  const oidcDomains = settings.domains.length > 0 ? parseDomains(settings.domains) : before?.oidcDomains;
  if (!oidcDomains) throw invalid('oidc_domains', 'must name at least one domain');

  const emailProof = settings.emailProof === undefined ? undefined : parseEmailProof(settings.emailProof);
  // The operator chose the stored proof for the former issuer.
  const oidcEmailProof = emailProof ?? (isNewIssuer ? 'claim' : before.oidcEmailProof);
  const change = { oidcIssuer, oidcClientId, oidcDomains, oidcEmailProof };

  if (settings.clientSecret !== undefined) {
    const secret = requireText('oidc_client_secret', settings.clientSecret, 0, 1_000);
    return { ...change, oidcClientSecretEncrypted: secret === '' ? null : encrypt(secret) };
  }
  // The stored secret was issued by the earlier provider, and must not be sent to another one.
  return isNewIssuer || oidcClientId !== before.oidcClientId ? { ...change, oidcClientSecretEncrypted: null } : change;
}

/**
 * Without this check, an operator that is bound to organizations could claim another firm's domain, and the people of that firm would be sent
 * to a provider of the operator's choice.
 * @throws ServiceError permission_denied
 */
export function requireMayClaim(
  { organizations }: OperatorRights,
  before: { oidcDomains: string[] | null },
  { oidcDomains }: OidcProviderChange,
): void {
  const added = oidcDomains?.find((domain) => !before.oidcDomains?.includes(domain));
  if (organizations.length === 0 || added === undefined) return;
  const reason = `${added} would be new, and an operator that is bound to organizations can only keep or remove domains`;
  throw new ServiceError('permission_denied', `oidc_domains: ${reason}. Ask an admin or manager who isn't bound to add it.`, {
    field: 'oidc_domains',
    reason: REASONS.operatorBound,
  });
}

/**
 * The URI that the organization's provider redirects people to. Each organization has its own, which prevents mix-up attacks: the URI of an
 * authorization response tells whose provider sent it (RFC 9700, section 4.4.2.2).
 */
export function redirectUriOf(toolsUrl: string, organization: string): string {
  return `${toolsUrl}/sign-in/callback/${organization}`;
}

/** @returns the normalized URL @throws ServiceError invalid_argument that names the field */
export function parseIssuer(field: string, text: string): string {
  const url = URL.parse(requireText(field, text, 1, 500));
  if (!url || url.protocol !== 'https:' || url.username || url.password || url.search || url.hash)
    throw invalid(field, 'must be an https URL without credentials, query and fragment');
  if (ENTRA_HOST.test(url.hostname) && ANY_TENANT.test(url.pathname))
    throw invalid(field, "must be your own tenant's, such as https://login.microsoftonline.com/TENANT-ID/v2.0");
  return normalizeIssuer(url);
}

/** Settings and linked accounts have this form of an issuer. */
export function normalizeIssuer(url: URL): string {
  return url.pathname === '/' ? url.origin : url.href;
}

function parseEmailProof(text: string): EmailProof {
  const proof = EMAIL_PROOFS.find((each) => each === text);
  if (!proof) throw invalid('oidc_email_proof', `must be one of ${EMAIL_PROOFS.join(', ')}`);
  return proof;
}

export function parseDomains(domains: string[]): string[] {
  const parsed = [...new Set(domains.map((domain) => domain.toLowerCase()))];
  if (parsed.length > MAX_DOMAINS || !parsed.every((domain) => DOMAIN.test(domain)))
    throw invalid('oidc_domains', `must be at most ${MAX_DOMAINS} domains of e-mail addresses, like acme.example`);
  return parsed.sort();
}
