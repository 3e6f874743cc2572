import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;
export type Network = [Address, number];

/** Addresses and networks, separated by commas; undefined where one can't be read. */
export function parseNetworks(text: string): Network[] | undefined {
  const parts = text.split(',').map((part) => part.trim());
  try {
    return parts.map((part) => {
      if (part.includes('/')) return ipaddr.parseCIDR(part);
      const address = ipaddr.process(part);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    });
  } catch {
    return undefined;
  }
}

/**
 * The client's address, as limits are counted by: the socket's peer, or, behind trusted proxies, the rightmost forwarded address that
 * is none of them. An IPv6 address stands for its /64, which is what one customer gets.
 */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): string {
  let client = parse(peer);
  if (!client) return 'unknown';
  const hops = forwardedFor?.split(',') ?? [];
  while (hops.length > 0 && isTrusted(client, trusted)) {
    const next = parse(hops.pop()?.trim());
    if (!next) break;
    client = next;
  }
  if (client.kind() === 'ipv4') return client.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${client.toNormalizedString()}/64`).toString()}/64`;
}

function parse(text: string | undefined): Address | undefined {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

function isTrusted(address: Address, trusted: Network[]): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}
