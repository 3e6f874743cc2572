import type { NextFunction, Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { clientAddress } from '@crs/kit/http/address';
import { stateOf } from '@crs/kit/http/request';
import { parseAccountId } from './account-id.ts';
import { tooManyParameters } from './problem.ts';

/** A request to one of our pages, its response, and the authorization server that the page belongs to. */
export interface Visit {
  request: Request;
  response: Response;
  provider: Provider;
}

/** Reads and sets cookies that are signed. A cookie with a wrong signature counts as absent. */
export function cookiesOf({ provider, request, response }: Visit) {
  const { cookies } = provider.createContext(request, response);
  return {
    // Without options, the library would not check the signature.
    get: (name: string) => cookies.get(name, { signed: true }),
    set: cookies.set.bind(cookies),
  };
}

/** The client's address. Only the tool gateway reaches this listener, and it appends the address of its own client to `X-Forwarded-For`. */
export function forwardedAddress(request: Pick<Request, 'headers' | 'socket'>): string {
  const forwarded = request.headers['x-forwarded-for'];
  const last = (Array.isArray(forwarded) ? forwarded.at(-1) : forwarded)?.split(',').at(-1)?.trim();
  return clientAddress(last ?? request.socket.remoteAddress, undefined, []);
}

/** Names the user in the request's line of the log, once the user is known. */
export function noteUser(response: Response, accountId: string): void {
  const { organization, userId } = parseAccountId(accountId);
  Object.assign(stateOf(response).facts, { organization, user_id: userId });
}

/** A field of a form; empty where the form has no such field, or several. */
export function field(request: Request, name: string): string {
  const body: unknown = request.body;
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

/** A request of OAuth has about a dozen. */
const MAX_PARAMETERS = 100;

/** Refuses a query of many parameters: oidc-provider's parser takes quadratic time for them, a tenth of a second for 16 KiB. */
export function limitParameters({ url }: Request, _response: Response, next: NextFunction): void {
  next(url.split('&', MAX_PARAMETERS + 1).length > MAX_PARAMETERS ? tooManyParameters(MAX_PARAMETERS) : undefined);
}

export function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://path.invalid').searchParams;
}
