import { invalid } from '@crs/kit/errors';
import { parseNetworks, startOf } from '@crs/kit/http/address';
import { KEY_RIGHTS, type KeyRight } from '@crs/kit/rpc/key-rights';

const DEFAULT_RIGHTS: KeyRight[] = ['read', 'write'];
export const MAX_NETWORKS = 100;

/** Returns the rights in their usual order. @throws ServiceError invalid_argument */
export function parseRights(names: readonly string[]): KeyRight[] {
  if (names.length === 0) return DEFAULT_RIGHTS;
  if (!names.every((name) => (KEY_RIGHTS as readonly string[]).includes(name)))
    throw invalid('rights', `must be of ${KEY_RIGHTS.join(', ')}`);
  return KEY_RIGHTS.filter((right) => names.includes(right));
}

/** Returns the networks in CIDR notation. @throws ServiceError invalid_argument */
export function parseKeyNetworks(texts: readonly string[]): string[] {
  if (texts.length > MAX_NETWORKS) throw invalid('networks', `must be at most ${MAX_NETWORKS}`);
  const networks = texts.length === 0 ? [] : parseNetworks(texts.join());
  if (!networks) throw invalid('networks', 'must be IP addresses or networks, such as 203.0.113.0/24');
  return networks.map(([address, bits]) => {
    const start = startOf([address, bits]);
    // Probably a typing error, which could admit more than was meant.
    if (start !== address.toString()) throw invalid('networks', `must have no bits after the prefix: ${start}/${bits}`);
    return `${start}/${bits}`;
  });
}
