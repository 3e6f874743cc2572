import type { IncomingMessage } from 'node:http';
import { recentSenders } from '@crs/kit/http/charge';
import { plainPath, type Recall } from '@crs/kit/http/front';
import type { RefusalParts } from '@crs/kit/http/refusal';
import { overAgain, repeated, type Recalled } from '@crs/kit/http/repeated';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision } from '@crs/kit/limits/rule';
import { signInCheck } from './limits.ts';
import type { McpOptions } from './mcp.ts';
import { namesUs } from './origins.ts';
import { passedPath, type PassedPath } from './sign-in-paths.ts';
import { ANY_ORIGIN, type SignInOptions } from './sign-in.ts';
import { readCredential } from './tokens.ts';

type Options = McpOptions & SignInOptions;

/**
 * The refusals that are known before the app works: at `/mcp`, 401 without a usable token, or 429 where the limit of its address is used
 * up; elsewhere 429. Requests of pages to `/mcp`, and requests for another `Host`, are the app's.
 */
export function recallRefusal(options: Options): Recall {
  const senderOf = recentSenders(options, (authorization, address) => readSender(authorization, address, options));
  return (request) => {
    const path = plainPath(request);
    if (path === undefined) return undefined;
    const sender = senderOf(request);
    if (path === '/mcp') return ofMessage(options, request, sender);
    const passed = passedPath(path);
    if (passed) return ofSignIn(options, request, sender, passed);
    const decision = options.limiter.recall(sender.check);
    return decision && sender.elsewhere(decision);
  };
}

/** Who sends requests with one credential from one address. */
interface Sender {
  /** See `readCredential`. */
  digest: string | undefined;
  /** The charge of the address. */
  check: Check;
  /** The refusal of a request to `/mcp`, once it is charged. */
  decide: (decision: Decision) => Recalled;
  /** The refusal of any other request but sign-in. */
  elsewhere: (decision: Decision) => Recalled;
  /** The charge of sign-in. */
  signIn: Check;
  /** The refusals of sign-in, by route. */
  signInOver: Map<string, (decision: Decision) => Recalled>;
}

function readSender(authorization: string | undefined, address: string, options: Options): Sender {
  const { digest, prefix } = readCredential(authorization);
  const refuse = (parts: RefusalParts) => repeated(parts, '/mcp', { client_address: address, credential: prefix });
  const over = overAgain('this address', refuse);
  const refusal = refuse(options.tokens.unauthorized(authorization));
  return {
    digest,
    check: { kind: 'address', id: address, rule: options.addressLimit },
    decide: (decision) => (decision.allowed ? { refusal, decision } : over(decision)),
    elsewhere: overAgain('this address', (parts) => repeated(parts, 'none', { client_address: address })),
    signIn: signInCheck(options, address),
    signInOver: new Map(),
  };
}

function ofMessage(options: Options, request: IncomingMessage, { digest, check, decide }: Sender): ReturnType<Recall> {
  if (request.headers.origin !== undefined || request.method === 'OPTIONS' || !namesUs(request, options.origins))
    return undefined;
  if (options.tokens.isRefused(digest, request, check.id) !== true) return undefined;
  const decision = options.limiter.recall(check);
  return decision ? decide(decision) : options.limiter.checkAtLeisure(check).then(decide);
}

function ofSignIn(options: Options, request: IncomingMessage, sender: Sender, passed: PassedPath): Recalled | undefined {
  if (!options.signIn || !passed.methods.includes(request.method!)) return undefined;
  if (!passed.route.startsWith('/.well-known/') && !namesUs(request, options.origins)) return undefined;
  const decision = options.limiter.recall(sender.signIn);
  return decision && signInOverOf(sender, passed)(decision);
}

function signInOverOf({ check, signInOver }: Sender, { route, isPage }: PassedPath): (decision: Decision) => Recalled {
  const known = signInOver.get(route);
  if (known) return known;
  const over = overAgain('this address', (parts) => {
    const headers = isPage ? parts.headers : { ...parts.headers, ...ANY_ORIGIN };
    return repeated({ ...parts, headers }, route, { client_address: check.id });
  });
  signInOver.set(route, over);
  return over;
}
