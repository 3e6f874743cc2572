import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { readBody } from '@crs/kit/http/body';
import { addressOf } from '@crs/kit/http/charge';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { addressKey, type RequestQueue } from '@crs/kit/http/request-queue';
import { chargeSignIn, isPreflight, type SignInCharging } from './limits.ts';
import { checkHost, type Origins } from './origins.ts';
import { forward, type Upstream } from './forward.ts';
import { forwardedPath, splitTarget } from './forwarded-paths.ts';

export interface SignInOptions extends SignInCharging {
  /** Auth's HTTP listener. Absent: sign-in is disabled. */
  signIn: Upstream | undefined;
  origins: Origins;
  queue: RequestQueue;
}

/** The client's headers to forward. All others are only for the gateway, or are ones that only the gateway may set. */
const PROGRAM_HEADERS = ['accept', 'authorization', 'content-type', 'user-agent'];
const FETCH_METADATA = ['sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'];
const BROWSER_HEADERS = [
  'accept',
  'accept-language',
  'content-type',
  'cookie',
  'origin',
  'referer',
  'user-agent',
  ...FETCH_METADATA,
];

/** Forwards sign-in requests to auth, so that issuer, tools and pages share one origin. */
export function signIn(options: SignInOptions) {
  const { host, protocol } = new URL(options.origins.publicUrl);
  const origin = { Host: host, 'X-Forwarded-Host': host, 'X-Forwarded-Proto': protocol.slice(0, -1) };
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const [path, query] = splitTarget(request.url);
    const destination = forwardedPath(path);
    if (!options.signIn || !destination) {
      next();
      return;
    }
    stateOf(response).route = destination.route;
    const address = addressOf(options, request);
    if (!destination.isPage) response.set(ANY_ORIGIN);
    if (!isPreflight(request)) await chargeSignIn(options, address);
    if (!path.startsWith('/.well-known/')) checkHost(request, options.origins);
    if (!destination.isPage && handlePreflight(request, response, destination.methods)) return;
    if (!destination.methods.includes(request.method)) throw methodNotAllowed(destination.methods);
    const body = await readBody(request);
    await options.queue.enter(addressKey(address), response);
    await forward(options.signIn, request, response, {
      target: destination.path + query,
      body,
      keep: destination.isPage ? BROWSER_HEADERS : PROGRAM_HEADERS,
      // A /64 is represented by its first address.
      headers: { ...origin, 'X-Forwarded-For': address.replace('/64', '') },
    });
  };
}

/** Whether a request's errors are displayed to people. */
export function isPage({ url }: IncomingMessage): boolean {
  return forwardedPath(splitTarget(url!)[0])?.isPage === true;
}

/** CORS headers of responses to programs, which may be pages of any origin. */
const ANY_ORIGIN = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'WWW-Authenticate, X-Request-Id, Retry-After',
};

/** Responds to a preflight. @returns whether the request is one */
function handlePreflight(request: Request, response: Response, methods: string[]): boolean {
  if (request.method !== 'OPTIONS') return false;
  response.set({
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'Access-Control-Max-Age': '600',
  });
  response.status(204).end();
  return true;
}
