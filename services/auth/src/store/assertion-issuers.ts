import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

const OWNER = { issuer: column.text, organization: column.text };
type IssuerOwner = column.RowOf<typeof OWNER>;

/** Finds the organization of an issuer of identity assertions, in a table without row-level security. */
export function findIssuerOwner(issuer: string): Statement<IssuerOwner> {
  return {
    name: 'find_issuer_owner',
    row: OWNER,
    text: 'select issuer, organization from auth.assertion_issuers where issuer = $1',
    values: [issuer],
  };
}

/**
 * Makes these the only issuers of the organization.
 * @returns an issuer that another organization has already, if any: the caller must then roll back
 */
export async function setIssuers(
  query: Query,
  organization: string,
  issuers: readonly string[],
): Promise<IssuerOwner | undefined> {
  // The update changes nothing, but locks the row and returns its owner, as in `setDomains`.
  const owners = await query({
    name: 'claim_issuers',
    row: OWNER,
    text: `insert into auth.assertion_issuers as i (issuer, organization) select issuer, $1 from unnest($2::text[]) as t (issuer) order by issuer
      on conflict (issuer) do update set organization = i.organization returning issuer, organization`,
    values: [organization, issuers],
  });
  const taken = owners.find((owner) => owner.organization !== organization);
  if (!taken) await query(releaseIssuers(organization, issuers));
  return taken;
}

export function releaseIssuers(organization: string, kept: readonly string[] = []): Statement {
  return {
    name: 'release_issuers',
    text: 'delete from auth.assertion_issuers where organization = $1 and issuer <> all ($2::text[])',
    values: [organization, kept],
  };
}

/**
 * Whether the organization lists the issuer, has an OpenID provider, and isn't suspended. Until the transaction ends, none of that can change, and
 * the deletion of the organization can't begin.
 */
export function lockListedIssuer(organization: string, issuer: string): Statement<{ organization: string }> {
  return {
    name: 'lock_listed_issuer',
    row: { organization: column.text },
    text: `select organization from auth.organizations
      where organization = $1 and $2 = any(assertion_issuers) and oidc_issuer is not null and erasing_at is null
        and suspended_at is null for share`,
    values: [organization, issuer],
  };
}
