import { ServiceError } from '../errors.ts';
import { Fresh } from '../fresh.ts';
import type { Check } from '../limits/limiter.ts';
import type { CallOptions } from '../rpc/client.ts';
import type { LookUps } from './look-ups.ts';

/** How long a response of auth is used, counted from the request to auth, even while auth is down (milliseconds). */
const MAX_AGE_MS = 1_000;
const MAX_CREDENTIALS = 10_000;

/** The request that contains the credential. */
export interface Bearer {
  /** Epoch milliseconds. */
  deadline: number;
  /** The charge of the client's address. */
  check: Check;
}

/** Auth's response: what it knows about the credential, or its refusal. */
type AuthResponse<A> = { value: A; refusal?: undefined } | { value?: undefined; refusal: ServiceError };

/**
 * Caches auth's responses about credentials, so that auth is called once a second for a credential, however many requests use it. Refusals are cached
 * too, so that a repeated invalid credential costs auth nothing. Errors of auth aren't cached. Credentials that aren't in the cache go through
 * {@link LookUps}, which limits them by client address.
 */
export class CredentialCache<A> {
  readonly #callAuth: (credential: string, call: CallOptions) => Promise<A>;
  readonly #lookUps: LookUps;
  readonly #responses = new Fresh<AuthResponse<A>>({ maxAgeMs: MAX_AGE_MS, max: MAX_CREDENTIALS });

  constructor(callAuth: (credential: string, call: CallOptions) => Promise<A>, lookUps: LookUps) {
    this.#callAuth = callAuth;
    this.#lookUps = lookUps;
  }

  /**
   * @param digest hash of the credential; the cache is keyed by it, so that it contains no credentials
   * @throws ServiceError unauthenticated, or auth's error
   */
  async get(digest: string, credential: string, { deadline, check }: Bearer): Promise<A> {
    const isKnown = this.#responses.peek(digest)?.value !== undefined;
    // Not cancelled with the request that starts the call: other requests wait for the same response.
    const authenticate = () => this.#authenticate(credential, deadline);
    const load = isKnown ? authenticate : () => this.#lookUps.run(check, deadline, authenticate);
    const { value, refusal } = await this.#responses.get(digest, load);
    if (refusal) throw refusal;
    return value;
  }

  async #authenticate(credential: string, deadline: number): Promise<AuthResponse<A>> {
    try {
      return { value: await this.#callAuth(credential, { deadline }) };
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') return { refusal: withoutStack(error) };
      throw error;
    }
  }
}

/** Copies a refusal without its stack, which would keep the call, and with it the credential, in memory. */
function withoutStack({ kind, message, reason }: ServiceError): ServiceError {
  const error = new ServiceError(kind, message, { reason });
  error.stack = `${error.name}: ${message}`;
  return error;
}
