import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

const OWNER = { domain: column.text, organization: column.text };
type DomainOwner = column.RowOf<typeof OWNER>;

/** Finds the organization of an e-mail domain, in a table without row-level security. */
export function findDomainOwner(domain: string): Statement<DomainOwner> {
  return {
    name: 'find_domain_owner',
    row: OWNER,
    text: 'select domain, organization from auth.domain_directory where domain = $1',
    values: [domain],
  };
}

/**
 * Makes these the only domains of the organization.
 * @returns a domain that another organization has already, if any: the caller must then roll back
 */
export async function setDomains(
  query: Query,
  organization: string,
  domains: readonly string[],
): Promise<DomainOwner | undefined> {
  // The update changes nothing, but locks the row and returns its owner. If two organizations claim a domain at the same time, the second one
  // waits for the first to commit, and then sees it as the owner.
  const owners = await query({
    name: 'claim_domains',
    row: OWNER,
    text: `insert into auth.domain_directory as d (domain, organization) select domain, $1 from unnest($2::text[]) as t (domain) order by domain
      on conflict (domain) do update set organization = d.organization returning domain, organization`,
    values: [organization, domains],
  });
  const taken = owners.find((owner) => owner.organization !== organization);
  if (!taken) await query(releaseDomains(organization, domains));
  return taken;
}

export function releaseDomains(organization: string, kept: readonly string[] = []): Statement {
  return {
    name: 'release_domains',
    text: 'delete from auth.domain_directory where organization = $1 and domain <> all ($2::text[])',
    values: [organization, kept],
  };
}
