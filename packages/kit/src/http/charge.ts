import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { RateLimiter } from '../limits/limiter.ts';
import type { Decision, Rule } from '../limits/rule.ts';
import { clientAddress, fullAddress, type Network } from './address.ts';
import { Refusal, type RefusalParts } from './refusal.ts';
import { Recent } from './remembered.ts';

export interface AddressCharging {
  limiter: RateLimiter;
  addressLimit: Rule;
  /** Proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: Network[];
}

type Trusting = Pick<AddressCharging, 'trustedProxies'>;
type Addressed = Pick<IncomingMessage, 'socket' | 'headers'>;

/** The client's address, for limits: an IPv4 address, or the /64 of an IPv6 address. */
export function addressOf({ trustedProxies }: Trusting, { socket, headers }: Addressed): string {
  return clientAddress(socket.remoteAddress, forwardedFor(headers), trustedProxies);
}

/** {@link addressOf}, remembered for a second. */
export function recentAddressOf(options: Trusting): (request: IncomingMessage) => string {
  const recent = new Recent<string>();
  return (request) =>
    recent.get(`${request.socket.remoteAddress} ${forwardedFor(request.headers) ?? ''}`, () => addressOf(options, request));
}

/** The client's whole address, for the log. */
export function fullAddressOf({ trustedProxies }: Trusting, { socket, headers }: Addressed): string {
  return fullAddress(socket.remoteAddress, forwardedFor(headers), trustedProxies);
}

function forwardedFor(headers: IncomingHttpHeaders): string | undefined {
  const forwarded = headers['x-forwarded-for'];
  return Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
}

/** Charges a request without a usable credential to the client's address. */
export function chargeAddress(options: AddressCharging, request: Addressed): Promise<Decision> {
  const { limiter, addressLimit } = options;
  return limiter.check({ kind: 'address', id: addressOf(options, request), rule: addressLimit });
}

/** The refusal of a request over the limit of `whose` ("the user"); undefined where the request is admitted. */
export function refusalOf(decision: Decision, whose: string): Refusal | undefined {
  if (decision.allowed) return undefined;
  const { status, code, message, headers } = overLimit(decision, whose);
  return new Refusal(status, code, message, headers);
}

/** The refusal of a request over the limit of `whose`. An error would cost more than all the rest of a remembered answer. */
export function overLimit({ resetInMs }: Decision, whose: string): RefusalParts {
  const seconds = String(Math.max(1, Math.ceil(resetInMs / 1000)));
  const message = `The rate limit of ${whose} is used up. Try again in ${seconds} s.`;
  return { status: 429, code: 'rate_limited', message, headers: { 'Retry-After': seconds } };
}

/** Headers that state a limit. The reset is in UTC epoch seconds, rounded up: a client that sleeps until then is admitted. */
export function limitHeaders({ limit, remaining, resetInMs }: Decision): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(Math.ceil((Date.now() + resetInMs) / 1000)),
  };
}
