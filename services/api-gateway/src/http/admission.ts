import type { NextFunction, Request, Response } from 'express';
import type { Decision, RateLimiter } from '@crs/kit/rate-limit/limiter';
import type { Rule } from '@crs/kit/rate-limit/rule';
import { clientAddress, type Network } from './address.ts';
import type { Credentials } from './credentials.ts';
import { rateLimited } from './refusal.ts';
import { callOf, stateOf } from './request.ts';

export interface AdmissionOptions {
  credentials: Credentials;
  limiter: RateLimiter;
  addressLimit: Rule;
  trustedProxies: Network[];
}

/**
 * Who asks, and one charge for it, whatever the answer will be: a usable key charges its organization, anything else the client's
 * address. A request without a usable key goes on with the reason in hand, as some paths need none.
 */
export function admission(options: AdmissionOptions) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const state = stateOf(response);
    try {
      state.credential = await options.credentials.resolve(request.headers.authorization, callOf(response));
    } catch (error) {
      noCredential.set(response, error);
    }
    const organization = state.credential?.organizationId;
    const decision = await (organization === undefined
      ? chargeAddress(options, request)
      : options.limiter.check({ kind: 'organization', id: organization, rule: state.credential!.rateLimit! }));
    response.set(limitHeaders(decision));
    if (!decision.allowed) {
      throw rateLimited(
        Math.max(1, Math.ceil(decision.resetInMs / 1000)),
        organization === undefined ? 'this address' : 'the organization',
      );
    }
    next();
  };
}

const noCredential = new WeakMap<Response, unknown>();

/** Lets only requests with a usable key pass. @throws what was wrong with the key */
export function requireKey(_request: Request, response: Response, next: NextFunction): void {
  if (noCredential.has(response)) throw noCredential.get(response);
  next();
}

export function chargeAddress(
  { limiter, addressLimit, trustedProxies }: Omit<AdmissionOptions, 'credentials'>,
  request: Pick<Request, 'socket' | 'headers'>,
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
