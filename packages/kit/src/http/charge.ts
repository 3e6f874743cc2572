import type { IncomingMessage } from 'node:http';
import type { RateLimiter } from '../limits/limiter.ts';
import type { Decision, Rule } from '../limits/rule.ts';
import { clientAddress, type Network } from './address.ts';

export interface AddressCharging {
  limiter: RateLimiter;
  addressLimit: Rule;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: Network[];
}

type Addressed = Pick<IncomingMessage, 'socket' | 'headers'>;

/** The client's address, as limits are counted by. */
export function addressOf({ trustedProxies }: Pick<AddressCharging, 'trustedProxies'>, { socket, headers }: Addressed): string {
  const forwarded = headers['x-forwarded-for'];
  return clientAddress(socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(',') : forwarded, trustedProxies);
}

/** Charges a request without a usable credential to the client's address. */
export function chargeAddress(options: AddressCharging, request: Addressed): Promise<Decision> {
  const { limiter, addressLimit } = options;
  return limiter.check({ kind: 'address', id: addressOf(options, request), rule: addressLimit });
}

/** Reset in UTC epoch seconds, rounded up: who sleeps until then is admitted. */
export function limitHeaders({ limit, remaining, resetInMs }: Decision): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil((Date.now() + resetInMs) / 1000)),
  };
}
