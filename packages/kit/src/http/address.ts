import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

type Address = ReturnType<typeof ipaddr.process>;
export type Network = [Address, number];

/** Parses addresses and networks with commas between them; undefined where one can't be read. */
export function parseNetworks(text: string): Network[] | undefined {
  const networks = text.split(',').map((part) => parseNetwork(part.trim()));
  return networks.every((network) => network !== undefined) ? networks : undefined;
}

function parseNetwork(text: string): Network | undefined {
  const [, network, bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parse(network);
  if (!address) return undefined;
  const width = address.kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? width : Number(bits);
  return length <= width ? [address, length] : undefined;
}

/** The client's address, for limits: an IPv6 address is cut to its /64, the smallest network that one customer gets. See {@link clientOf}. */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): string {
  const client = clientOf(peer, forwardedFor, trusted);
  if (!client) return 'unknown';
  if (client.kind() === 'ipv4') return client.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${client.toNormalizedString()}/64`).toString()}/64`;
}

/** A network around a client's /64, and how many times its limit is as wide as that of the /64. */
export interface WiderNetwork {
  network: string;
  times: number;
}

/** A home usually gets a /56, a customer of a hosting provider a /48. Several customers may share either, hence the wider limits. */
const WIDER = [
  { bits: 56, times: 4 },
  { bits: 48, times: 16 },
];
const NONE: WiderNetwork[] = [];

/**
 * The networks whose clients share further limits with this address, from the narrowest to the widest: whoever has a /48 has 65,536
 * addresses to send from. An IPv4 address has none.
 * @param address as {@link clientAddress} returns it
 */
export function widerNetworksOf(address: string): readonly WiderNetwork[] {
  if (!address.endsWith('/64')) return NONE;
  const hit = knownNetworks.get(address);
  if (hit) return hit;
  const ip = address.slice(0, -'/64'.length);
  const networks = WIDER.map(({ bits, times }) => ({
    network: `${ipaddr.IPv6.networkAddressFromCIDR(`${ip}/${bits}`).toString()}/${bits}`,
    times,
  }));
  knownNetworks.set(address, networks);
  return networks;
}

/** The client's address, for the log. See {@link clientOf}. */
export function fullAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): string {
  return clientOf(peer, forwardedFor, trusted)?.toString() ?? 'unknown';
}

/** The socket's peer or, behind trusted proxies, the rightmost forwarded address that isn't a trusted proxy. */
function clientOf(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): Address | undefined {
  let client = parse(peer);
  if (!client) return undefined;
  const hops = forwardedFor?.split(',') ?? [];
  while (hops.length > 0 && isTrusted(client, trusted)) {
    const next = parse(hops.pop()?.trim());
    if (!next) break;
    client = next;
  }
  return client;
}

/** The addresses of late, because to parse an IPv6 address takes 30 us, and the log and the limits need it with each request. */
const known = new LRUCache<string, { parsed: Address | undefined }>({ max: 10_000 });
/** The wider networks of recent addresses, for the same reason. */
const knownNetworks = new LRUCache<string, readonly WiderNetwork[]>({ max: 10_000 });
/** No address is longer. */
const MAX_LENGTH = 64;

/** Refuses the short, octal and hexadecimal forms of IPv4, in which `10/8` would mean 0.0.0.10. */
function parse(text = ''): Address | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const hit = known.get(text);
  if (hit) return hit.parsed;
  const parsed = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : undefined;
  known.set(text, { parsed });
  return parsed;
}

function isTrusted(address: Address, trusted: Network[]): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/** {@link parseNetworks} for a setting. */
export const networksSetting = z.string().transform((text, context) => {
  const parsed = parseNetworks(text);
  if (parsed) return parsed;
  context.addIssue('must be addresses or networks (10.0.0.0/8), separated by commas');
  return z.NEVER;
});
