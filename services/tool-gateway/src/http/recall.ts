import type { IncomingMessage, ServerResponse } from 'node:http';
import { overLimit, recentSenders } from '@crs/kit/http/charge';
import { plainPath, type Recall } from '@crs/kit/http/front';
import type { RefusalParts } from '@crs/kit/http/refusal';
import { overAgain, repeated, type Recalled } from '@crs/kit/http/repeated';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision } from '@crs/kit/limits/rule';
import type { AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';
import { callCheck, signInCheck } from './limits.ts';
import { parseMessage, readBody, type McpOptions } from './mcp.ts';
import { namesUs } from './origins.ts';
import { CallRefusal, measureTools, readCall } from './refused-calls.ts';
import { passedPath, type PassedPath } from './sign-in-paths.ts';
import { ANY_ORIGIN, type SignInOptions } from './sign-in.ts';
import { readCredential } from './tokens.ts';

type Options = McpOptions & SignInOptions;

/**
 * The refusals that are known before the app works: at `/mcp`, 401 without a usable token, or 429 where the limit of its address is used
 * up, and the results of calls over the user's limit; elsewhere 429. Requests of pages to `/mcp`, and requests for another `Host`, are the app's.
 */
export function recallRefusal(options: Options): Recall {
  const senderOf = recentSenders(options, (authorization, address) => readSender(authorization, address, options));
  const measure = measureTools();
  return (request, response) => {
    const path = plainPath(request);
    if (path === undefined) return undefined;
    const sender = senderOf(request);
    if (path === '/mcp')
      return ofMessage(options, request, sender, (user) => ofCall(options, request, response, user, sender, measure));
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

function ofMessage(
  options: Options,
  request: IncomingMessage,
  { digest, check, decide }: Sender,
  ofUser: (user: AuthenticateTokenResponse) => ReturnType<Recall>,
): ReturnType<Recall> {
  if (request.headers.origin !== undefined || request.method === 'OPTIONS' || !namesUs(request, options.origins))
    return undefined;
  const known = options.tokens.recall(digest, request, check.id);
  if (!known) return undefined;
  if (known.answer) return ofUser(known.answer);
  const decision = options.limiter.recall(check);
  return decision ? decide(decision) : options.limiter.checkAtLeisure(check).then(decide);
}

function ofCall(
  options: Options,
  request: IncomingMessage,
  response: ServerResponse,
  user: AuthenticateTokenResponse,
  sender: Sender,
  measure: ReturnType<typeof measureTools>,
): ReturnType<Recall> {
  const check = callCheck(user);
  if (request.method !== 'POST' || !options.limiter.isUsedUp(check)) return undefined;
  const refuse = (bytes: Buffer): Recalled | undefined => {
    const call = readCall(request, parseMessage(bytes));
    if (!call || !user.scopes.includes(call.tool.scope)) return undefined;
    const answer = options.refusedCalls.find(call);
    const decision = answer && options.limiter.recall(check);
    if (!decision) return undefined;
    const parts = new CallRefusal(overLimit(decision, 'the user'), answer, call.id);
    measure(call.tool.name, 429, 0);
    const { organizationId: organization, grantId: grant_id } = user;
    const tally = { status: 429, client_address: sender.check.id, organization, grant_id, count: 0 };
    return { refusal: { parts, route: '/mcp', tally }, decision };
  };
  // The app meets the same error.
  return readBody(request, response, sender.check.id)
    .then(refuse)
    .catch(() => undefined);
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
