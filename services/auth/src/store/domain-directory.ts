import * as column from '@crs/kit/data/column';
import type { Query, Statement } from '@crs/kit/data/database';

const OWNER = { domain: column.text, organization: column.text };
type DomainOwner = column.RowOf<typeof OWNER>;

/** The organization that an e-mail domain belongs to. No organization owns the directory, so the statement needs none in its scope. */
export function findDomainOwner(domain: string): Statement<DomainOwner> {
  return {
    name: 'find_domain_owner',
    row: OWNER,
    text: 'select domain, organization from auth.domain_directory where domain = $1',
    values: [domain],
  };
}

/**
 * Makes these domains, and no others, the organization's. The caller rolls back if a domain belongs to another organization.
 * @returns a domain that belongs to another organization, if there is one
 */
export async function setDomains(
  query: Query,
  organization: string,
  domains: readonly string[],
): Promise<DomainOwner | undefined> {
  // The update changes nothing, but locks the row and returns its owner. So of two organizations that claim a domain at the same time, the
  // second waits for the first and then sees it.
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

/** Frees all domains of the organization, except for the kept ones. */
export function releaseDomains(organization: string, kept: readonly string[] = []): Statement {
  return {
    name: 'release_domains',
    text: 'delete from auth.domain_directory where organization = $1 and domain <> all ($2::text[])',
    values: [organization, kept],
  };
}
