import type { NextFunction, Request, Response } from 'express';
import type Provider from 'oidc-provider';
import { Encrypter } from '@crs/kit/data/encrypter';
import { clientAddress } from '@crs/kit/http/address';
import { stateOf } from '@crs/kit/http/request';
import type { Secrets } from '@crs/kit/process/secrets';
import { parseAccountId } from './accounts.ts';
import { cookieSettings } from './cookies.ts';
import { CSRF_FIELD } from './pages/layout.ts';
import { PageError } from './page-error.ts';

/** A request to one of our pages, its response, and the authorization server that the page belongs to. */
export type Visit = ReturnType<typeof visitOf>;

export function visitOf(issuer: string, request: Request, response: Response, provider: Provider) {
  const { options, names } = cookieSettings(issuer);
  const { cookies } = provider.createContext(request, response);
  type CookieName = keyof typeof names;
  return {
    request,
    response,
    provider,
    cookies: {
      /** A cookie with an invalid signature counts as absent. Without `signed`, the library would not check it. */
      get: (name: CookieName) => cookies.get(names[name], { signed: true }),
      /** @param value null deletes the cookie. @param maxAge milliseconds; undefined: until the browser is closed */
      set: (name: CookieName, value: string | null, maxAge?: number) => {
        cookies.set(names[name], value, { ...options, ...(maxAge !== undefined && { maxAge }) });
      },
    },
  };
}

/** The browser's session at the authorization server. It has no account if nobody is signed in. */
export function sessionOf({ provider, request, response }: Visit) {
  return provider.Session.get(provider.createContext(request, response));
}

/** The client's address. Only the tool gateway reaches this listener, and it appends the address of its own client to `X-Forwarded-For`. */
export function forwardedAddress(request: Pick<Request, 'headers' | 'socket'>): string {
  const forwarded = request.headers['x-forwarded-for'];
  const last = (Array.isArray(forwarded) ? forwarded.at(-1) : forwarded)?.split(',').at(-1)?.trim();
  return clientAddress(last ?? request.socket.remoteAddress, undefined, []);
}

/** Adds the user to the request's log line. */
export function logUser(response: Response, accountId: string): void {
  const { organization, userId } = parseAccountId(accountId);
  Object.assign(stateOf(response).logFields, { organization, user_id: userId });
}

/** A field of the submitted form; empty if it is absent or repeated. */
export function field(request: Request, name: string): string {
  const [value = '', ...others] = fields(request, name);
  return others.length === 0 ? value : '';
}

/** All values of a field of the submitted form, such as those of checkboxes. */
export function fields(request: Request, name: string): string[] {
  const body: unknown = request.body;
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined;
  return [value].flat().filter((each) => typeof each === 'string');
}

export function queryOf(request: Request): URLSearchParams {
  return new URL(request.originalUrl, 'http://path.invalid').searchParams;
}

/** Issues and checks CSRF tokens. A token is bound to one authorization or one browser. */
export class FormTokens {
  readonly #encrypter: Encrypter;

  constructor(secrets: Secrets) {
    this.#encrypter = new Encrypter(secrets, 'forms');
  }

  make(bound: string): string {
    return this.#encrypter.encrypt(Buffer.alloc(0), bound).toString('base64url');
  }

  /** @throws PageError if the submitted form has no such token */
  check(request: Request, bound: string): void {
    try {
      this.#encrypter.decrypt(Buffer.from(field(request, CSRF_FIELD), 'base64url'), bound);
    } catch (error) {
      throw new PageError(403, 'This form is no longer valid', 'Go back, reload the page and try again.', error);
    }
  }
}

/** An OAuth request has about a dozen. */
const MAX_PARAMETERS = 100;

/** Refuses queries with many parameters: oidc-provider parses them in quadratic time, 16 KiB in 0.1 s. */
export function limitParameters({ url }: Request, _response: Response, next: NextFunction): void {
  if (url.split('&', MAX_PARAMETERS + 1).length <= MAX_PARAMETERS) return next();
  const message = `An address here has at most ${MAX_PARAMETERS} parameters. Go back to your assistant and connect again.`;
  throw new PageError(400, 'This address is too long', message);
}

/** Replaces each request's host and scheme by the issuer's, because oidc-provider builds URLs from them. */
export function pinOrigin(issuer: string) {
  const { host, protocol } = new URL(issuer);
  return ({ headers }: Request, _response: Response, next: NextFunction): void => {
    headers.host = host;
    headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete headers['x-forwarded-host'];
    delete headers['forwarded'];
    next();
  };
}
