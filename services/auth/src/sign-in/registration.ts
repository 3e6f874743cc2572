import type { NextFunction, Request, Response } from 'express';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import type { SignInContext } from './context.ts';
import { forwardedAddress, queryOf } from './request.ts';
import { REGISTRATIONS, secondsToWaitOf } from './throttle.ts';

/** Limits registrations from one address, across all replicas. The gateway's limit counts all kinds of requests. */
export function limitRegistrations(context: SignInContext) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const seconds = await secondsToWaitOf(context, REGISTRATIONS, forwardedAddress(request));
    if (seconds === 0) return next();
    const description = `Too many registrations from this address. Try again in ${seconds} s.`;
    response.status(429).set('Retry-After', String(seconds));
    response.json({ error: 'temporarily_unavailable', error_description: description });
  };
}

/** Parameters of OpenID Connect, which are meaningless here, because this server issues no id tokens. */
const OPENID_PARAMETERS = ['nonce', 'max_age', 'id_token_hint', 'acr_values', 'claims', 'claims_locales'];

/**
 * Reduces the parameters of an authorization request to those that this server supports.
 * - A request with none of our scopes gets all of them. Other scopes are ignored: refresh tokens need no `offline_access`.
 * - The only response mode is `query`. oidc-provider has no setting for that, and responds to `form_post` with a page that holds a script,
 *   even to errors. So any other mode becomes one that it rejects as unsupported, once it has checked the redirect URI.
 */
export function adaptAuthorization(request: Request, _response: Response, next: NextFunction): void {
  const parameters = queryOf(request);
  const requested = parameters.getAll('scope').flatMap((scope) => scope.split(' '));
  const known = OAUTH_SCOPES.filter((scope) => requested.includes(scope));
  for (const name of OPENID_PARAMETERS) parameters.delete(name);
  const modes = parameters.getAll('response_mode');
  if (modes.some((mode) => mode !== '' && mode !== 'query')) parameters.set('response_mode', 'unsupported');
  parameters.set('scope', (known.length > 0 ? known : OAUTH_SCOPES).join(' '));
  request.url = `${request.path}?${parameters.toString()}`;
  next();
}
