import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import type { Bulkhead } from '../limits/bulkhead.ts';
import type { CallOptions } from '../rpc/client.ts';

/** A remembered answer ages from the moment it was asked for; past this it is never used, whatever state auth is in. */
const REMEMBER_MS = 1_000;
const MAX_REMEMBERED = 10_000;

interface Asked<A> {
  /** Infinity: not yet; -Infinity: without an answer. */
  at: number;
  answer: Promise<A>;
  /** Whose it is, auth has said. */
  isKnown: boolean;
}

/** Who brings a credential. */
export interface Bearer {
  /** Epoch milliseconds. */
  deadline: number;
  /** The client's address, as limits are counted by. */
  address: () => string;
}

/**
 * What auth says of credentials: asked once a second for one in use, however many requests carry it. One that isn't known yet, and may
 * be made up, is asked for in a slot of the client's address, so that whoever guesses keeps nobody waiting whose credential is good.
 */
export class Remembered<A> {
  readonly #ask: (credential: string, call: CallOptions) => Promise<A>;
  readonly #strangers: Bulkhead;
  readonly #asked = new LRUCache<string, Asked<A>>({ max: MAX_REMEMBERED });

  constructor(ask: (credential: string, call: CallOptions) => Promise<A>, strangers: Bulkhead) {
    this.#ask = ask;
    this.#strangers = strangers;
  }

  /** @param digest of the credential: what is remembered holds no credential */
  async get(digest: string, credential: string, bearer: Bearer): Promise<A> {
    const arrived = performance.now();
    for (;;) {
      const known = this.#asked.get(digest);
      if (!known || performance.now() - known.at > REMEMBER_MS) return this.#askAgain(digest, credential, bearer, known?.isKnown);
      // Whoever joins a question gets an answer that has aged meanwhile. Too old, it is as good as one's own only where it was asked
      // for no earlier than one's own would have been.
      const answer = await known.answer;
      if (known.at >= arrived || performance.now() - known.at <= REMEMBER_MS) return answer;
    }
  }

  #askAgain(digest: string, credential: string, { deadline, address }: Bearer, isKnown = false): Promise<A> {
    // Not cancelled with the request that happens to ask: others wait for the same answer.
    const ask = () => {
      asked.at = performance.now();
      return this.#ask(credential, { deadline });
    };
    const asked: Asked<A> = { at: Infinity, answer: undefined as never, isKnown };
    asked.answer = isKnown ? ask() : this.#inSlot(address(), deadline, ask);
    this.#asked.set(digest, asked);
    // An unknown credential is remembered too, so that guessing costs auth nothing; an outage isn't.
    asked.answer.then(
      () => (asked.isKnown = true),
      (error) => {
        if (error instanceof ServiceError && error.kind === 'unauthenticated') {
          asked.isKnown = false;
          asked.answer = refused(error);
        } else asked.at = -Infinity;
        // What strangers make up is soon forgotten: thousands of refusals are much to keep.
        if (!asked.isKnown)
          setTimeout(() => this.#asked.peek(digest) === asked && this.#asked.delete(digest), REMEMBER_MS).unref();
      },
    );
    return asked.answer;
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

/** The refusal alone: the stack of the error that came holds the call that it ended, and with it the credential, several times over. */
function refused({ kind, message, reason }: ServiceError): Promise<never> {
  const error = new ServiceError(kind, message, { reason });
  error.stack = `${error.name}: ${message}`;
  const answer = Promise.reject<never>(error);
  answer.catch(() => {});
  return answer;
}
