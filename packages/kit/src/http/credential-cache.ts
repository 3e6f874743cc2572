import { ServiceError } from '../errors.ts';
import { Fresh } from '../fresh.ts';
import type { Check } from '../limits/limiter.ts';
import type { CallOptions } from '../rpc/client.ts';
import type { LookUps } from './look-ups.ts';

/** How long auth's answer is used, counted from the question, even while auth is down (milliseconds). */
const MAX_AGE_MS = 1_000;
const MAX_CREDENTIALS = 10_000;

/** The request that carries a credential. */
export interface Bearer {
  /** Epoch milliseconds. */
  deadline: number;
  /** The charge of the client's address. */
  check: Check;
}

/** Auth's answer about a credential, or auth's refusal of the credential. */
type Known<A> = { answer: A; refusal?: undefined } | { answer?: undefined; refusal: ServiceError };

/**
 * Caches auth's responses about credentials. Auth is called once a second for a credential in use, however many requests carry it. A refusal is cached as
 * long, so that guesses cost auth nothing; a failure of auth isn't. An unknown credential is looked up in the turn of its client's address.
 */
export class CredentialCache<A> {
  readonly #ask: (credential: string, call: CallOptions) => Promise<A>;
  readonly #lookUps: LookUps;
  readonly #known = new Fresh<Known<A>>({ maxAgeMs: MAX_AGE_MS, max: MAX_CREDENTIALS });

  constructor(ask: (credential: string, call: CallOptions) => Promise<A>, lookUps: LookUps) {
    this.#ask = ask;
    this.#lookUps = lookUps;
  }

  /**
   * @param digest of the credential, so that the cache holds no credential
   * @throws ServiceError unauthenticated, or what auth's failure is
   */
  async get(digest: string, credential: string, { deadline, check }: Bearer): Promise<A> {
    const isKnown = this.#known.peek(digest)?.answer !== undefined;
    // The question isn't cancelled with the request that asks first: other requests wait for the same answer.
    const ask = () => this.#question(credential, deadline);
    const known = await this.#known.get(digest, isKnown ? ask : () => this.#lookUps.run(check, deadline, ask));
    if (known.refusal) throw known.refusal;
    return known.answer;
  }

  async #question(credential: string, deadline: number): Promise<Known<A>> {
    try {
      return { answer: await this.#ask(credential, { deadline }) };
    } catch (error) {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') return { refusal: withoutStack(error) };
      throw error;
    }
  }
}

/** A copy of a refusal without its stack: the stack refers to the call, and the call holds the credential. */
function withoutStack({ kind, message, reason }: ServiceError): ServiceError {
  const error = new ServiceError(kind, message, { reason });
  error.stack = `${error.name}: ${message}`;
  return error;
}
