import type { IncomingMessage } from 'node:http';
import { overLimit, recentAddressOf } from '@crs/kit/http/charge';
import { plainPath, type Recall, type Recalled } from '@crs/kit/http/front';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision } from '@crs/kit/limits/rule';
import { signInCheck } from './limits.ts';
import type { McpOptions } from './mcp.ts';
import { namesUs } from './origins.ts';
import { passedPath, type PassedPath } from './sign-in-paths.ts';
import { ANY_ORIGIN, type SignInOptions } from './sign-in.ts';

type Options = McpOptions & SignInOptions;

/**
 * The refusals that are known before the app works: at `/mcp`, 401 without a usable token, or 429 where the limit of its address is used
 * up; elsewhere 429. Requests of pages to `/mcp`, and requests for another `Host`, are the app's.
 */
export function recallRefusal(options: Options): Recall {
  const addressOf = recentAddressOf(options);
  return (request) => {
    const path = plainPath(request);
    if (path === undefined) return undefined;
    const address = addressOf(request);
    if (path === '/mcp') return ofMessage(options, request, address);
    const passed = passedPath(path);
    if (passed) return ofSignIn(options, request, address, passed);
    const decision = options.limiter.recall(strangersCheck(options, address));
    return decision && { refusal: overLimit(decision, 'this address'), route: 'none', sender: { client_address: address } };
  };
}

function strangersCheck({ addressLimit }: Options, id: string): Check {
  return { kind: 'address', id, rule: addressLimit };
}

function ofMessage(options: Options, request: IncomingMessage, address: string): ReturnType<Recall> {
  const { headers, method } = request;
  if (headers.origin !== undefined || method === 'OPTIONS' || !namesUs(request, options.origins)) return undefined;
  const credential = options.tokens.recall(headers.authorization);
  if (!credential) return undefined;
  const { unauthorized, prefix } = credential;
  const check = strangersCheck(options, address);
  const decide = (decision: Decision): Recalled => {
    const refusal = decision.allowed ? unauthorized : overLimit(decision, 'this address');
    return { refusal, route: '/mcp', sender: { client_address: address, credential: prefix } };
  };
  const known = options.limiter.recall(check);
  return known ? decide(known) : options.limiter.checkAtLeisure(check).then(decide);
}

function ofSignIn(options: Options, request: IncomingMessage, address: string, passed: PassedPath): Recalled | undefined {
  if (!options.signIn || !passed.methods.includes(request.method!)) return undefined;
  if (!passed.route.startsWith('/.well-known/') && !namesUs(request, options.origins)) return undefined;
  const decision = options.limiter.recall(signInCheck(options, address));
  if (!decision) return undefined;
  const refusal = overLimit(decision, 'this address');
  if (!passed.isPage) Object.assign(refusal.headers, ANY_ORIGIN);
  return { refusal, route: passed.route, sender: { client_address: address } };
}
