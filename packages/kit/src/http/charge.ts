import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Check, RateLimiter } from '../limits/limiter.ts';
import { widen, type Decision, type Rule } from '../limits/rule.ts';
import { clientAddress, fullAddress, widerNetworksOf, type Network } from './address.ts';
import { Refusal } from './refusal.ts';

export interface AddressCharging {
  limiter: RateLimiter;
  addressLimit: Rule;
  /** Proxies whose `X-Forwarded-For` header is trusted. */
  trustedProxies: Network[];
}

type Trusting = Pick<AddressCharging, 'trustedProxies'>;
type Addressed = Pick<IncomingMessage, 'socket' | 'headers'>;

/** Returns the client's address for rate limits: an IPv4 address, or the /64 of an IPv6 address. */
export function addressOf({ trustedProxies }: Trusting, { socket, headers }: Addressed): string {
  return clientAddress(socket.remoteAddress, forwardedFor(headers), trustedProxies);
}

/** Returns the client's full address, for the log. */
export function fullAddressOf({ trustedProxies }: Trusting, { socket, headers }: Addressed): string {
  return fullAddress(socket.remoteAddress, forwardedFor(headers), trustedProxies);
}

function forwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const forwarded = headers['x-forwarded-for'];
  return Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
}

/**
 * Returns the charge of a request to the client's address and, over IPv6, to the networks that contain it.
 * @param purpose a label for requests with a separate counter
 */
export function addressCheck(address: string, rule: Rule, purpose?: string): Check {
  const of = (id: string, times = 1): Check => ({
    kind: 'address',
    id: purpose === undefined ? id : `${id} ${purpose}`,
    rule: widen(rule, times),
  });
  const wider = widerNetworksOf(address).map(({ network, times }) => of(network, times));
  return wider.length === 0 ? of(address) : { ...of(address), wider };
}

/** Returns the refusal of a request that exceeds the limit of `whose` (such as "the user"); undefined if the request is admitted. */
export function refusalOf(decision: Decision, whose: string): Refusal | undefined {
  if (decision.allowed) return undefined;
  const seconds = String(Math.max(1, Math.ceil(decision.resetInMs / 1000)));
  const message = `The rate limit of ${whose} is used up. Try again in ${seconds} s.`;
  return new Refusal(429, 'rate_limited', message, { 'Retry-After': seconds });
}

/** Returns the headers that describe a limit. The reset time is in epoch seconds. */
export function limitHeaders(decision: Decision): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(decision.limit),
    'X-RateLimit-Remaining': String(decision.remaining),
    // Rounded up, so that a client that sleeps until then is admitted.
    'X-RateLimit-Reset': String(Math.ceil((Date.now() + decision.resetInMs) / 1000)),
  };
}
