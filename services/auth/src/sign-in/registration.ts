import type { NextFunction, Request, Response } from 'express';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import type { SignInContext } from './context.ts';
import { forwardedAddress, queryOf } from './request.ts';
import { REGISTRATIONS, secondsToWaitOf } from './throttle.ts';

/** Limits registrations from one address, for all replicas together. The gateway's limit counts all kinds of requests. */
export function limitRegistrations(context: SignInContext) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const seconds = await secondsToWaitOf(context, REGISTRATIONS, forwardedAddress(request));
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

/** A value that oidc-provider doesn't know. It answers with `unsupported_response_mode`, once it has checked the redirect URI. */
const UNSUPPORTED_MODE = 'unsupported';

/**
 * Changes the parameters of an authorization request to those that this server supports.
 * - A request that names none of our scopes asks for all of them. Other scopes are ignored: `offline_access` isn't needed for refresh
 *   tokens.
 * - The only response mode is `query`. oidc-provider has no setting for that, and answers `form_post` with a page that holds a script,
 *   errors included, so the name of another mode must not reach it.
 */
export function adaptAuthorization(request: Request, _response: Response, next: NextFunction): void {
  const parameters = queryOf(request);
  const asked = parameters.getAll('scope').flatMap((scope) => scope.split(' '));
  const known = OAUTH_SCOPES.filter((scope) => asked.includes(scope));
  for (const name of OF_OPENID) parameters.delete(name);
  const modes = parameters.getAll('response_mode');
  if (modes.some((mode) => mode !== '' && mode !== 'query')) parameters.set('response_mode', UNSUPPORTED_MODE);
  parameters.set('scope', (known.length > 0 ? known : OAUTH_SCOPES).join(' '));
  request.url = `${request.path}?${parameters.toString()}`;
  next();
}
