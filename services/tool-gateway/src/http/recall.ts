import type { IncomingMessage, ServerResponse } from 'node:http';
import { addressCheck, overLimit, recentSenders } from '@crs/kit/http/charge';
import { plainPath, type Recall } from '@crs/kit/http/front';
import { Guesses } from '@crs/kit/http/guesses';
import type { RefusalParts } from '@crs/kit/http/refusal';
import { overAgain, repeated, type Recalled } from '@crs/kit/http/repeated';
import type { Check } from '@crs/kit/limits/limiter';
import type { Decision } from '@crs/kit/limits/rule';
import type { AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';
import { callCheck, isPreflight, preflightCheck, signInCheck } from './limits.ts';
import { parseMessage, readBody, type McpOptions } from './mcp.ts';
import { isForeign } from './origins.ts';
import { CallRefusal, measureTools, readCall } from './refused-calls.ts';
import { passedPath, type PassedPath } from './sign-in-paths.ts';
import { ANY_ORIGIN, type SignInOptions } from './sign-in.ts';
import { readCredential } from './tokens.ts';

type Options = McpOptions & SignInOptions;

/**
 * The refusals that are known before the app works: at `/mcp`, 401 without a usable token, or 429 where the limit of its address is used
 * up, and the results of calls over the user's limit; elsewhere 429. Requests of pages to `/mcp` are the app's, and so is the first refusal of a foreign `Host` or origin. An unknown token of an
 * address whose limit is used up is looked up here, in its turn, so that the app sees it only if it is good.
 */
export function recallRefusal(options: Options): Recall {
  const senderOf = recentSenders(options, (authorization, address) => readSender(authorization, address, options));
  const measure = measureTools();
  const guesses = new Guesses(options.limiter);
  return (request, response) => {
    const path = plainPath(request);
    if (path === undefined) return undefined;
    const sender = senderOf(request);
    if (isPreflight(request)) {
      const decision = options.limiter.recall(sender.preflight);
      return decision && sender.elsewhere(decision);
    }
    if (path === '/mcp')
      return ofMessage(options, guesses, request, sender, (user) => ofCall(options, request, response, user, sender, measure));
    const passed = options.signIn && passedPath(path);
    const decision = options.limiter.recall(passed ? sender.signIn : sender.check);
    return decision && (passed ? signInOverOf(sender, passed) : sender.elsewhere)(decision);
  };
}

/** Who sends requests with one credential from one address. */
interface Sender {
  address: string;
  /** See `readCredential`. */
  digest: string | undefined;
  /** The charge of the address. */
  check: Check;
  /** The refusal of a request to `/mcp`, once it is charged. */
  decide: (decision: Decision) => Recalled;
  /** The refusal of a request to `/mcp` over the limit, without regard to its credential. The log counts all of an address in one line. */
  overAtMcp: (decision: Decision) => Recalled;
  /** The refusal of any other request but sign-in. */
  elsewhere: (decision: Decision) => Recalled;
  /** The charge of a preflight. */
  preflight: Check;
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
    address,
    check: addressCheck(address, options.addressLimit),
    decide: (decision) => (decision.allowed ? { refusal, decision } : over(decision)),
    overAtMcp: overAgain('this address', (parts) => repeated(parts, '/mcp', { client_address: address })),
    preflight: preflightCheck(options, address),
    elsewhere: overAgain('this address', (parts) => repeated(parts, 'none', { client_address: address })),
    signIn: signInCheck(options, address),
    signInOver: new Map(),
  };
}

const LOOK_UP_MS = 1_000;

function ofMessage(
  options: Options,
  guesses: Guesses,
  request: IncomingMessage,
  { address, digest, check, decide, overAtMcp }: Sender,
  ofUser: (user: AuthenticateTokenResponse) => ReturnType<Recall>,
): ReturnType<Recall> {
  if (isForeign(request, options.origins)) {
    const decision = options.limiter.recall(check);
    return decision && overAtMcp(decision);
  }
  if (request.headers.origin !== undefined) return undefined;
  const known = options.tokens.recall(digest, request, address);
  if (!known) {
    if (digest === undefined || options.tokens.isKnown(digest)) return undefined;
    const lookUp = () =>
      options.tokens.resolve(request.headers.authorization, { deadline: Date.now() + LOOK_UP_MS, address: () => address });
    return guesses.refuse({ check, digest, lookUp, over: overAtMcp });
  }
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
    const tally = { status: 429, client_address: sender.address, organization, grant_id, count: 0 };
    return { refusal: { parts, route: '/mcp', tally }, decision };
  };
  // The app meets the same error.
  return readBody(request, response, sender.address)
    .then(refuse)
    .catch(() => undefined);
}

function signInOverOf({ address, signInOver }: Sender, { route, isPage }: PassedPath): (decision: Decision) => Recalled {
  const known = signInOver.get(route);
  if (known) return known;
  const over = overAgain('this address', (parts) => {
    const headers = isPage ? parts.headers : { ...parts.headers, ...ANY_ORIGIN };
    return repeated({ ...parts, headers }, route, { client_address: address });
  });
  signInOver.set(route, over);
  return over;
}
