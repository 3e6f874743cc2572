import type { Statement } from '@crs/kit/data/database';

/** An organization's own OpenID provider. */
export interface OidcProviderRow {
  issuer: string;
  clientId: string;
  clientSecretSealed: Buffer | null;
  /** In lower case. */
  domains: string[];
}

/** No row where the organization has none or is gone. */
export function findOidcProvider(organization: string): Statement {
  return {
    name: 'find_oidc_provider',
    text: `select oidc_issuer as issuer, oidc_client_id as "clientId", oidc_client_secret_sealed as "clientSecretSealed",
        oidc_domains as domains
      from auth.organizations where organization = $1 and oidc_issuer is not null and erasing_at is null`,
    values: [organization],
  };
}
