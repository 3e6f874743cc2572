import type { ProviderHost } from '../../config.ts';

/**
 * The hosts that an organization's provider may have at any port and address, as `host:port`. An entry for all organizations counts only on
 * the issuer's own host. Otherwise the metadata of any organization's provider could send requests to every listed host.
 */
export function allowedHosts(entries: readonly ProviderHost[], organization: string, issuer: string): string[] {
  const { hostname, port } = new URL(issuer);
  const own = `${hostname}:${port || '443'}`;
  return entries
    .filter((entry) =>
      entry.organization === undefined ? entry.host.toLowerCase() === own : entry.organization === organization,
    )
    .map(({ host }) => host);
}
