import type { NextFunction, Request, Response } from 'express';
import { OAUTH_SCOPES } from '@crs/kit/product/scopes';
import type { SignInContext } from './context.ts';
import { forwardedAddress, queryOf } from './request.ts';
import { REGISTRATIONS, secondsToWait } from './throttle.ts';

/** Limits registrations from one address, for all replicas together. The gateway's limit counts all kinds of requests. */
export function limitRegistrations(context: SignInContext) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const seconds = await secondsToWait(context, REGISTRATIONS, forwardedAddress(request));
    if (seconds === 0) return next();
    response
      .status(429)
      .set('Retry-After', String(seconds))
      .json({
        error: 'temporarily_unavailable',
        error_description: `Too many registrations from this address. Try again in ${seconds} s.`,
      });
  };
}

/** Parameters of OpenID Connect. They mean nothing here, because this server issues no id tokens. */
const OF_OPENID = ['nonce', 'max_age', 'id_token_hint', 'acr_values', 'claims', 'claims_locales'];

/** A request that names none of our scopes asks for all of them. Other scopes are ignored: `offline_access` isn't needed for refresh tokens. */
export function defaultScopes(request: Request, _response: Response, next: NextFunction): void {
  const parameters = queryOf(request);
  const asked = parameters.getAll('scope').flatMap((scope) => scope.split(' '));
  const known = OAUTH_SCOPES.filter((scope) => asked.includes(scope));
  for (const name of OF_OPENID) parameters.delete(name);
  parameters.set('scope', (known.length > 0 ? known : OAUTH_SCOPES).join(' '));
  request.url = `${request.path}?${parameters.toString()}`;
  next();
}
