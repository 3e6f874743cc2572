import type { NextFunction, Request, Response } from 'express';
import { SCOPES } from '../domain/access-tokens.ts';
import type { SignInContext } from './context.ts';
import { addressOf } from './request.ts';
import { REGISTRATIONS, secondsToWait } from './throttle.ts';

/** oidc-provider opens the token endpoint and its like to pages of any origin, but not this one. */
export function openToPages(request: Request, response: Response, next: NextFunction): void {
  response.set('Access-Control-Allow-Origin', '*');
  if (request.method !== 'OPTIONS') return next();
  response.set({
    'Access-Control-Allow-Methods': 'POST',
    // Clients send their protocol version here, too.
    'Access-Control-Allow-Headers': 'Content-Type, MCP-Protocol-Version',
    'Access-Control-Max-Age': '3600',
  });
  response.status(204).end();
}

export function limitRegistrations(context: SignInContext) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const seconds = request.method === 'POST' ? await secondsToWait(context, REGISTRATIONS, addressOf(request)) : 0;
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

/** Who names no scope of ours is asked about all of them. Others (`openid`, `offline_access`) change nothing: refresh tokens come anyway. */
export function defaultScopes(request: Request, _response: Response, next: NextFunction): void {
  const [path, query = ''] = request.url.split('?', 2) as [string, string?];
  const parameters = new URLSearchParams(query);
  const asked = parameters.getAll('scope').flatMap((scope) => scope.split(' '));
  const known = SCOPES.filter((scope) => asked.includes(scope));
  parameters.set('scope', (known.length > 0 ? known : SCOPES).join(' '));
  request.url = `${path}?${parameters.toString()}`;
  next();
}
