import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

type Address = ReturnType<typeof ipaddr.process>;
export type Network = [Address, number];

/** Parses a comma-separated list of addresses and networks. @returns undefined if one of them is invalid */
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

/** Returns the client's address for rate limits. An IPv6 address is reduced to its /64, the smallest network that a customer gets. See {@link clientOf}. */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): string {
  const client = clientOf(peer, forwardedFor, trusted);
  if (!client) return 'unknown';
  if (client.kind() === 'ipv4') return client.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${client.toNormalizedString()}/64`).toString()}/64`;
}

/** A network that contains a client's /64. Its limit is `times` that of the /64. */
export interface WiderNetwork {
  network: string;
  times: number;
}

/** A home usually gets a /56, and a customer of a hosting provider a /48. Several customers may share either, hence the higher limits. */
const WIDER = [
  { bits: 56, times: 4 },
  { bits: 48, times: 16 },
];
const NONE: WiderNetwork[] = [];

/**
 * Returns the networks that are limited as well as this address, from the narrowest to the widest. Without these limits, a client with a /48 could use
 * 65,536 times the limit of a /64. Empty for an IPv4 address.
 * @param address as returned by {@link clientAddress}
 */
export function widerNetworksOf(address: string): readonly WiderNetwork[] {
  if (!address.endsWith('/64')) return NONE;
  const hit = widerNetworks.get(address);
  if (hit) return hit;
  const ip = address.slice(0, -'/64'.length);
  const networks = WIDER.map(({ bits, times }) => ({
    network: `${ipaddr.IPv6.networkAddressFromCIDR(`${ip}/${bits}`).toString()}/${bits}`,
    times,
  }));
  widerNetworks.set(address, networks);
  return networks;
}

/** Returns the client's full address, for the log. See {@link clientOf}. */
export function fullAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): string {
  return clientOf(peer, forwardedFor, trusted)?.toString() ?? 'unknown';
}

/** Returns the socket's peer or, if that is a trusted proxy, the rightmost forwarded address that isn't one. */
function clientOf(peer: string | undefined, forwardedFor: string | undefined, trusted: Network[]): Address | undefined {
  let client = parse(peer);
  if (!client) return undefined;
  const hops = forwardedFor?.split(',') ?? [];
  while (hops.length > 0 && isInOneOf(client, trusted)) {
    const next = parse(hops.pop()?.trim());
    if (!next) break;
    client = next;
  }
  return client;
}

/** A cache, because parsing an IPv6 address takes 30 us, and the log and the limits need it for each request. */
const parsedAddresses = new LRUCache<string, { parsed: Address | undefined }>({ max: 10_000 });
/** Caches {@link widerNetworksOf}, for the same reason. */
const widerNetworks = new LRUCache<string, readonly WiderNetwork[]>({ max: 10_000 });
/** Longer than any address. */
const MAX_LENGTH = 64;

/** Rejects the short, octal and hexadecimal forms of IPv4: they would read `10/8` as 0.0.0.10. */
function parse(text = ''): Address | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const hit = parsedAddresses.get(text);
  if (hit) return hit.parsed;
  const parsed = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : undefined;
  parsedAddresses.set(text, { parsed });
  return parsed;
}

function isInOneOf(address: Address, trusted: Network[]): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
}

/** Whether an address is in one of the networks. @param address as returned by {@link fullAddress} */
export function isWithin(address: string, networks: Network[]): boolean {
  const parsed = parse(address);
  return parsed !== undefined && isInOneOf(parsed, networks);
}

/** Returns the first address of a network. */
export function startOf([address, bits]: Network): string {
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString();
}

/** Schema of a setting that {@link parseNetworks} parses. */
export const networksSetting = z.string().transform((text, context) => {
  const parsed = parseNetworks(text);
  if (parsed) return parsed;
  context.addIssue('must be addresses or networks (10.0.0.0/8), separated by commas');
  return z.NEVER;
});
