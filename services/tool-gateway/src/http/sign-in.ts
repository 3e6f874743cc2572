import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { readBody } from '@crs/kit/http/body';
import { addressOf } from '@crs/kit/http/charge';
import { methodNotAllowed } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import { addressKey, type RequestQueue } from '@crs/kit/http/request-queue';
import { chargeSignIn, isPreflight, type SignInCharging } from './limits.ts';
import { checkHost, type Origins } from './origins.ts';
import { passOn, type Upstream } from './pass-on.ts';
import { passedPath, splitTarget } from './sign-in-paths.ts';

export interface SignInOptions extends SignInCharging {
  /** Auth's HTTP listener. Absent: there is no sign-in here. */
  signIn: Upstream | undefined;
  origins: Origins;
  queue: RequestQueue;
}

/** The client's headers that are passed on. Other headers are for the gateway alone, or state facts that only the gateway may state. */
const OF_PROGRAMS = ['accept', 'authorization', 'content-type', 'user-agent'];
const FETCH_METADATA = ['sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site', 'sec-fetch-user'];
const OF_BROWSERS = ['accept', 'accept-language', 'content-type', 'cookie', 'origin', 'referer', 'user-agent', ...FETCH_METADATA];

/** Passes sign-in on to auth, so that issuer, tools and pages share one origin. */
export function signIn(options: SignInOptions) {
  const { host, protocol } = new URL(options.origins.publicUrl);
  const origin = { Host: host, 'X-Forwarded-Host': host, 'X-Forwarded-Proto': protocol.slice(0, -1) };
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const [path, query] = splitTarget(request.url);
    const passed = passedPath(path);
    if (!options.signIn || !passed) {
      next();
      return;
    }
    stateOf(response).route = passed.route;
    const address = addressOf(options, request);
    if (!passed.isPage) response.set(ANY_ORIGIN);
    if (!isPreflight(request)) await chargeSignIn(options, address);
    if (!path.startsWith('/.well-known/')) checkHost(request, options.origins);
    if (!passed.isPage && answersAnyOrigin(request, response, passed.methods)) return;
    if (!passed.methods.includes(request.method)) throw methodNotAllowed(passed.methods);
    const body = await readBody(request);
    await options.queue.enter(addressKey(address), response);
    await passOn(options.signIn, request, response, {
      target: passed.path + query,
      body,
      keep: passed.isPage ? OF_BROWSERS : OF_PROGRAMS,
      // The first address of a /64 stands for it.
      headers: { ...origin, 'X-Forwarded-For': address.replace('/64', '') },
    });
  };
}

/** Whether people read the errors of a request. */
export function isPage({ url }: IncomingMessage): boolean {
  return passedPath(splitTarget(url!)[0])?.isPage === true;
}

/** Headers of every answer to a program: its page may be of any origin. */
const ANY_ORIGIN = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'WWW-Authenticate, X-Request-Id, Retry-After',
};

/** @returns whether the request was a preflight, which this function has answered */
function answersAnyOrigin(request: Request, response: Response, methods: string[]): boolean {
  if (request.method !== 'OPTIONS') return false;
  response.set({
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': 'Authorization, Content-Type, MCP-Protocol-Version',
    'Access-Control-Max-Age': '600',
  });
  response.status(204).end();
  return true;
}
