import type { NextFunction, Request, Response } from 'express';
import { digestOf } from '@crs/kit/api-key';
import { ServiceError } from '@crs/kit/errors';
import { credentialPrefix } from '@crs/kit/http/access-log';
import { readBody } from '@crs/kit/http/body';
import { addressCheck, addressOf, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import { CredentialCache } from '@crs/kit/http/credential-cache';
import { BODY_MS } from '@crs/kit/http/listener';
import type { LookUps } from '@crs/kit/http/look-ups';
import { methodNotAllowed, Refusal } from '@crs/kit/http/refusal';
import { stateOf } from '@crs/kit/http/request';
import type { RequestQueue } from '@crs/kit/http/request-queue';
import type { Rule } from '@crs/kit/limits/rule';
import type { ServiceClient } from '@crs/kit/rpc/client';
import type { AuthenticateScimTokenResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { forward, type Upstream } from './forward.ts';
import { splitTarget } from './forwarded-paths.ts';
import { chargeUnauthenticated } from './limits.ts';
import { checkHost, type Origins } from './origins.ts';

export interface ScimOptions extends AddressCharging {
  /** Auth's HTTP listener. Absent: SCIM is disabled, as sign-in is. */
  signIn: Upstream | undefined;
  scimTokens: ScimTokens;
  origins: Origins;
  queue: RequestQueue;
}

/** Limit of an organization's directory, apart from its other limits. */
const SCIM_LIMIT: Rule = { requests: 1_500, periodSeconds: 60 };
const BODY = { maxBytes: 1024 * 1024, withinMs: BODY_MS };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const HEADERS = ['accept', 'authorization', 'content-type', 'user-agent'];

/** The pattern excludes anything that another URL parser could read as `..` or as an escape. */
const PATH = /^\/scim\/v2\/(Users|Groups|ServiceProviderConfig|ResourceTypes|Schemas)(\/[\w-][\w.:-]*)?$/;
const PREFIX = /^\/scim(\/|$|\?)/;

/**
 * Forwards requests of organizations' directories to auth, which checks the token again: here, it decides only what is charged. Checks, in this
 * order: Host, token, rate limit, path, method, body.
 */
export function scim(options: ScimOptions) {
  const { host, protocol } = new URL(options.origins.publicUrl);
  const origin = { Host: host, 'X-Forwarded-Host': host, 'X-Forwarded-Proto': protocol.slice(0, -1) };
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    if (!options.signIn || !isScim(request.url)) {
      next();
      return;
    }
    const [path, query] = splitTarget(request.url);
    const known = PATH.exec(path);
    const state = stateOf(response);
    state.route = known ? `/scim/v2/${known[1]}${known[2] === undefined ? '' : '/:id'}` : '/scim';
    const address = addressOf(options, request);
    checkHost(request, options.origins);
    const { organizationId, tokenId } = await authenticate(request, response, options);
    Object.assign(state.logFields, { organization: organizationId, scim_token_id: tokenId });
    await charge(options, organizationId);
    if (!known) throw new Refusal(404, 'not_found', 'There is nothing at this path.');
    if (!METHODS.includes(request.method)) throw methodNotAllowed(METHODS);
    const body = await readBody(request, BODY);
    await options.queue.enter(organizationId, response);
    await forward(options.signIn, request, response, {
      target: path + query,
      body,
      keep: HEADERS,
      headers: { ...origin, 'X-Forwarded-For': address.replace('/64', '') },
    });
  };
}

/** Whether a request is for SCIM, whose errors have a form of their own. */
export function isScim(url: string): boolean {
  return PREFIX.test(url);
}

/** A request without a usable token is charged to the client's address. @throws Refusal 401 or 429, or ServiceError if auth is unavailable */
async function authenticate(request: Request, response: Response, options: ScimOptions): Promise<AuthenticateScimTokenResponse> {
  const { deadline, logFields } = stateOf(response);
  const check = addressCheck(addressOf(options, request), options.addressLimit);
  try {
    return await options.scimTokens.resolve(request.headers.authorization, { deadline, check });
  } catch (error) {
    logFields.credential = credentialPrefix(request.headers.authorization);
    if (error instanceof Refusal) await chargeUnauthenticated(options, request);
    throw error;
  }
}

/** @throws Refusal 429 */
async function charge({ limiter }: AddressCharging, organization: string): Promise<void> {
  const decision = await limiter.check({ kind: 'organization', id: `${organization} scim`, rule: SCIM_LIMIT });
  const refusal = refusalOf(decision, "the organization's directory");
  if (refusal) throw refusal;
}

const BEARER = /^Bearer +(\S+)$/i;

/** Checks SCIM tokens. Calls auth once a second for a token in use. */
export class ScimTokens {
  readonly #cache: CredentialCache<AuthenticateScimTokenResponse>;

  constructor(auth: ServiceClient<AuthServiceService>, lookUps: LookUps) {
    this.#cache = new CredentialCache((scimToken, call) => auth.authenticateScimToken({ scimToken }, call), lookUps);
  }

  /** @throws Refusal 401, or ServiceError if auth is unavailable */
  async resolve(
    authorization: string | undefined,
    bearer: Parameters<CredentialCache<unknown>['get']>[2],
  ): Promise<AuthenticateScimTokenResponse> {
    const token = BEARER.exec(authorization ?? '')?.[1];
    if (token === undefined) throw unauthorized;
    try {
      return await this.#cache.get(digestOf(token).toString('base64'), token, bearer);
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') throw unauthorized;
      throw error;
    }
  }
}

const unauthorized = new Refusal(401, 'unauthorized', 'The SCIM token is missing, unknown or revoked.', {
  'WWW-Authenticate': 'Bearer',
});

/** Renders an error as RFC 7644, section 3.12, asks. */
export function renderScimError({ status, message }: Refusal): [type: string, body: string] {
  const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error'];
  return ['application/scim+json', JSON.stringify({ schemas, status: String(status), detail: message })];
}
