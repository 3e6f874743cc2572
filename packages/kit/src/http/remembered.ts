import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import type { Bulkhead } from '../limits/bulkhead.ts';
import type { CallOptions } from '../rpc/client.ts';

/** How long an answer is used, counted from its question, even while auth is away (milliseconds). */
const REMEMBER_MS = 1_000;
/** The age at which {@link Remembered.recall} asks anew. */
const RENEW_MS = 750;
const MAX_REMEMBERED = 10_000;
const MAX_RECENT = 1_000;
const LONGEST_RECENT = 2_048;

interface Asked<A> {
  /** When auth was asked. Infinity: not asked yet; -Infinity: auth gave no answer. */
  at: number;
  answer: Promise<A>;
  /** Whether auth knows the credential. */
  isKnown: boolean;
  /** The answer, once it is there. */
  settled?: Recollection<A>;
  /** Whether auth was asked again already. */
  isRenewed: boolean;
}

/** Auth's answer about a credential, or auth's refusal of the credential. */
export type Recollection<A> = { answer: A; refusal?: never } | { answer?: never; refusal: ServiceError };

/** The request that carries a credential. */
export interface Bearer {
  /** Epoch milliseconds. */
  deadline: number;
  /** The client's address, for limits. */
  address: () => string;
}

/**
 * Auth's answers about credentials. Auth is asked once a second for a credential in use, however many requests carry it. An unknown
 * credential may be a guess: the question takes a slot of the client's address, so that guesses don't delay clients with good credentials.
 */
export class Remembered<A> {
  readonly #ask: (credential: string, call: CallOptions) => Promise<A>;
  readonly #strangers: Bulkhead;
  readonly #asked = new LRUCache<string, Asked<A>>({ max: MAX_REMEMBERED });

  constructor(ask: (credential: string, call: CallOptions) => Promise<A>, strangers: Bulkhead) {
    this.#ask = ask;
    this.#strangers = strangers;
  }

  /** @param digest of the credential; it is the key of the memory, so that the memory holds no credential */
  async get(digest: string, credential: string, bearer: Bearer): Promise<A> {
    const arrived = performance.now();
    for (;;) {
      const known = this.#asked.get(digest);
      if (!known || performance.now() - known.at > REMEMBER_MS) return this.#askAgain(digest, credential, bearer, known?.isKnown);
      // The answer ages while this request waits for it. An answer that is too old is still good if auth was asked after this request
      // arrived.
      const answer = await known.answer;
      if (known.at >= arrived || performance.now() - known.at <= REMEMBER_MS) return answer;
    }
  }

  /**
   * Auth's answer of the last second; undefined where {@link get} has to ask or to wait. Auth is asked again before the answer is too old:
   * else the crowd of each second's first moment would have to wait.
   * @param credential reads it for that question
   */
  recall(digest: string, credential: () => string, address: string): Recollection<A> | undefined {
    const known = this.#asked.get(digest);
    if (!known?.settled) return undefined;
    const age = performance.now() - known.at;
    if (age > REMEMBER_MS) return undefined;
    if (age > RENEW_MS && !known.isRenewed) {
      known.isRenewed = true;
      const bearer = { deadline: Date.now() + REMEMBER_MS, address: () => address };
      const asked = this.#question(digest, credential(), bearer, known.isKnown);
      asked.answer.catch(() => {}).finally(() => asked.settled && this.#asked.set(digest, asked));
    }
    return known.settled;
  }

  /** Whether auth's latest answer about a credential was good, however old the answer is. */
  isKnown(digest: string): boolean {
    return this.#asked.peek(digest)?.isKnown === true;
  }

  #askAgain(digest: string, credential: string, bearer: Bearer, isKnown = false): Promise<A> {
    const asked = this.#question(digest, credential, bearer, isKnown);
    this.#asked.set(digest, asked);
    return asked.answer;
  }

  #question(digest: string, credential: string, { deadline, address }: Bearer, isKnown: boolean): Asked<A> {
    // The question isn't cancelled with the request that asks first: other requests wait for the same answer.
    const ask = () => {
      asked.at = performance.now();
      return this.#ask(credential, { deadline });
    };
    const asked: Asked<A> = { at: Infinity, answer: undefined as never, isKnown, isRenewed: false };
    asked.answer = isKnown ? ask() : this.#inSlot(address(), deadline, ask);
    // A refusal is remembered too, so that guesses cost auth nothing. An outage isn't.
    asked.answer.then(
      (answer) => {
        asked.isKnown = true;
        asked.settled = { answer };
      },
      (error) => {
        if (error instanceof ServiceError && error.kind === 'unauthenticated') {
          asked.isKnown = false;
          const refusal = withoutStack(error);
          asked.settled = { refusal };
          asked.answer = Promise.reject(refusal);
          asked.answer.catch(() => {});
        } else asked.at = -Infinity;
        // A guess is forgotten soon: thousands of refusals take much memory.
        if (!asked.isKnown)
          setTimeout(() => this.#asked.peek(digest) === asked && this.#asked.delete(digest), REMEMBER_MS).unref();
      },
    );
    return asked;
  }

  async #inSlot(address: string, deadline: number, ask: () => Promise<A>): Promise<A> {
    const release = await this.#strangers.acquire(address, { deadline });
    try {
      return await ask();
    } finally {
      release();
    }
  }
}

/**
 * Remembers what texts of headers mean, for a second at most, because that is how long a credential in them may stay in memory: reading
 * and hashing a credential costs more than the rest of a remembered answer.
 */
export class Recent<V> {
  #meanings = new Map<string, V>();

  get(text: string): V | undefined {
    return this.#meanings.get(text);
  }

  keep(text: string, meaning: V): V {
    if (this.#meanings.size >= MAX_RECENT || text.length > LONGEST_RECENT) return meaning;
    if (this.#meanings.size === 0) setTimeout(() => (this.#meanings = new Map()), REMEMBER_MS).unref();
    this.#meanings.set(text, meaning);
    return meaning;
  }
}

/** A copy of a refusal without its stack: the stack refers to the call, and the call holds the credential. */
function withoutStack({ kind, message, reason }: ServiceError): ServiceError {
  const error = new ServiceError(kind, message, { reason });
  error.stack = `${error.name}: ${message}`;
  return error;
}
