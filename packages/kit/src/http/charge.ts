import type { IncomingMessage } from 'node:http';
import type { Decision, RateLimiter } from '../rate-limit/limiter.ts';
import type { Rule } from '../rate-limit/rule.ts';
import { clientAddress, type Network } from './address.ts';

export interface AddressCharging {
  limiter: RateLimiter;
  addressLimit: Rule;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: Network[];
}

/** Charges a request without a usable credential to the client's address. */
export function chargeAddress(
  { limiter, addressLimit, trustedProxies }: AddressCharging,
  request: Pick<IncomingMessage, 'socket' | 'headers'>,
): Promise<Decision> {
  const forwarded = request.headers['x-forwarded-for'];
  const address = clientAddress(
    request.socket.remoteAddress,
    Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
    trustedProxies,
  );
  return limiter.check({ kind: 'address', id: address, rule: addressLimit });
}

/** Reset in UTC epoch seconds, rounded up: who sleeps until then is admitted. */
export function limitHeaders({ limit, remaining, resetInMs }: Decision): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil((Date.now() + resetInMs) / 1000)),
  };
}
