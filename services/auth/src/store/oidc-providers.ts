import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const OIDC_PROVIDER = {
  issuer: column.text,
  clientId: column.text,
  clientSecretEncrypted: column.bytes.orNull,
  /** In lower case. */
  domains: column.textArray,
  emailProof: column.text,
};
export type OidcProviderRow = column.RowOf<typeof OIDC_PROVIDER>;

/** No row if the organization has no OpenID provider of its own, is suspended, or its deletion has begun. */
export function findOidcProvider(organization: string): Statement<OidcProviderRow> {
  return {
    name: 'find_oidc_provider',
    row: OIDC_PROVIDER,
    text: `select oidc_issuer as issuer, oidc_client_id as "clientId", oidc_client_secret_encrypted as "clientSecretEncrypted",
        oidc_domains as domains, oidc_email_proof as "emailProof"
      from auth.organizations where organization = $1 and oidc_issuer is not null and erasing_at is null and suspended_at is null`,
    values: [organization],
  };
}
