import type { AuthenticateKeyResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { NextFunction, Request, Response } from 'express';
import { digestOf, isApiKey } from '@crs/kit/api-key';
import { ServiceError } from '@crs/kit/errors';
import { isWithin, parseNetworks } from '@crs/kit/http/address';
import { addressCheck, addressOf, fullAddressOf, limitHeaders, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import { CredentialCache, type Bearer } from '@crs/kit/http/credential-cache';
import type { LookUps } from '@crs/kit/http/look-ups';
import type { RefusalCounts } from '@crs/kit/http/refusal-counts';
import type { RequestQueue } from '@crs/kit/http/request-queue';
import { credentialPrefix } from '@crs/kit/http/access-log';
import { stateOf } from '@crs/kit/http/request';
import type { Logger } from '@crs/kit/process/log';
import type { ServiceClient } from '@crs/kit/rpc/client';
import { unauthorized } from './refusal.ts';

export interface AuthenticationOptions extends AddressCharging {
  credentials: Credentials;
  readTimeoutMs: number;
  queue: RequestQueue;
  refusals: RefusalCounts;
}

/** State of a request with a valid key. */
interface Authenticated {
  /** Auth's response about the key. */
  credential: AuthenticateKeyResponse;
  /** The client's IP address, for the audit trail. */
  address: string;
  /** Waits for the request's slot. */
  enter: () => Promise<void>;
}

/**
 * Authenticates each request and charges it once, whatever its outcome: to the organization of its key or, without a valid key, to the client's address.
 * A request without a valid key continues, because some paths need none; `requireKey` refuses it on all other paths.
 */
export function authenticate(options: AuthenticationOptions) {
  return async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const state = stateOf(response);
    const { authorization } = request.headers;
    let check = addressCheck(addressOf(options, request), options.addressLimit);
    let whose = 'this address';
    try {
      const deadline = Math.min(state.deadline, Date.now() + options.readTimeoutMs);
      const credential = await options.credentials.resolve(authorization, { deadline, check });
      const address = fullAddressOf(options, request);
      requireNetwork(credential, address);
      const { callerTokens, organizationId, keyId, rateLimit } = credential;
      state.callerToken = callerTokens;
      Object.assign(state.logFields, { organization: organizationId, key_id: keyId });
      const enter = () => options.queue.enter(organizationId, response);
      response.locals['authenticated'] = { credential, address, enter } satisfies Authenticated;
      check = { kind: 'organization', id: organizationId, rule: rateLimit! };
      whose = 'the organization';
    } catch (error) {
      response.locals['keyError'] = error;
    }
    const decision = await options.limiter.check(check);
    response.set(limitHeaders(decision));
    const refusal = refusalOf(decision, whose);
    if (refusal) throw refusal;
    const { keyError } = response.locals;
    if (keyError instanceof ForeignNetwork) options.credentials.recordForeignNetwork(keyError);
    if (!authenticatedOf(response)) state.logFields.credential = credentialPrefix(authorization);
    next();
  };
}

export function authenticatedOf(response: Response): Authenticated | undefined {
  return response.locals['authenticated'] as Authenticated | undefined;
}

/** A valid key was used from an address outside its networks. */
class ForeignNetwork extends ServiceError {
  readonly credential: AuthenticateKeyResponse;
  readonly address: string;

  constructor(credential: AuthenticateKeyResponse, address: string) {
    super('unauthenticated', `The API key may not be used from the address ${address}.`);
    this.credential = credential;
    this.address = address;
  }
}

/** @throws ForeignNetwork */
function requireNetwork(credential: AuthenticateKeyResponse, address: string): void {
  const { networks } = credential;
  if (networks.length > 0 && !isWithin(address, parseNetworks(networks.join()) ?? []))
    throw new ForeignNetwork(credential, address);
}

/**
 * Refuses requests without a valid key, and makes the others wait for their slot. One with a body waits only after that has arrived, see `readBody`.
 * @throws Refusal 401, or ServiceError if auth is unavailable
 */
export async function requireKey(request: Request, response: Response, next: NextFunction): Promise<void> {
  const authenticated = authenticatedOf(response);
  if (!authenticated) {
    const error: unknown = response.locals['keyError'];
    if (error instanceof ForeignNetwork) throw unauthorized(error, error.message);
    throw error instanceof ServiceError && error.kind === 'unauthenticated' ? unauthorized(error) : error;
  }
  if (!WITH_BODY.has(request.method)) await authenticated.enter();
  next();
}

const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** The services that the routes call, besides auth, which accepts the tokens of all. */
const SERVICES = ['calls', 'projects', 'entities'];

/** Exchanges API keys for caller tokens. Calls auth once a second for a key in use, and never for text that can't be a key. */
export class Credentials {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #log: Logger;
  readonly #cache: CredentialCache<AuthenticateKeyResponse>;

  constructor(auth: ServiceClient<AuthServiceService>, lookUps: LookUps, log: Logger) {
    this.#auth = auth;
    this.#log = log;
    this.#cache = new CredentialCache((apiKey, call) => auth.authenticateKey({ apiKey, audiences: SERVICES }, call), lookUps);
  }

  /** @throws Refusal 401, or ServiceError if auth is unavailable */
  async resolve(authorization: string | undefined, bearer: Bearer): Promise<AuthenticateKeyResponse> {
    const key = keyOf(authorization);
    if (key === undefined) throw unauthorized();
    return this.#cache.get(digestOf(key).toString('base64'), key, bearer);
  }

  /** Records the refusal in the audit trail. Not awaited, so that the trail can't delay responses. */
  recordForeignNetwork({ credential, address }: { credential: AuthenticateKeyResponse; address: string }): void {
    const action = { action: 'key.refuse', address };
    this.#auth
      .recordKeyAction(action, { token: Object.values(credential.callerTokens)[0]! })
      .catch((error) => this.#log.warn({ err: error }, 'the refusal of a key could not be recorded'));
  }
}

/** Returns the API key of a request; undefined if the header is absent or its text can't be a key. */
function keyOf(authorization = ''): string | undefined {
  const key = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  return key !== undefined && isApiKey(key) ? key : undefined;
}
