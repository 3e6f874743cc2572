import { LRUCache } from 'lru-cache';
import { ServiceError } from '../errors.ts';
import type { CallOptions } from '../grpc-client.ts';

/** A remembered answer ages from the moment it was asked for; past this it is never used, whatever state auth is in. */
const REMEMBER_MS = 1_000;
const MAX_REMEMBERED = 10_000;

interface Asked<A> {
  at: number;
  answer: Promise<A>;
}

/** What auth says of credentials: asked once a second for one in use, however many requests carry it. */
export class Remembered<A> {
  readonly #ask: (credential: string, call: CallOptions) => Promise<A>;
  readonly #asked = new LRUCache<string, Asked<A>>({ max: MAX_REMEMBERED });

  constructor(ask: (credential: string, call: CallOptions) => Promise<A>) {
    this.#ask = ask;
  }

  /** @param digest of the credential: what is remembered holds no credential */
  async get(digest: string, credential: string, call: CallOptions): Promise<A> {
    const arrived = performance.now();
    for (;;) {
      const known = this.#asked.get(digest);
      if (!known || performance.now() - known.at > REMEMBER_MS) return this.#askNow(digest, credential, call);
      // Whoever joins a question gets an answer that has aged meanwhile. Too old, it is as good as one's own only where it was asked
      // for no earlier than one's own would have been.
      const answer = await known.answer;
      if (known.at >= arrived || performance.now() - known.at <= REMEMBER_MS) return answer;
    }
  }

  #askNow(digest: string, credential: string, { deadline }: CallOptions): Promise<A> {
    // Not cancelled with the request that happens to ask: others wait for the same answer.
    const at = performance.now();
    const answer = this.#ask(credential, deadline === undefined ? {} : { deadline });
    const asked = { at, answer };
    this.#asked.set(digest, asked);
    // An unknown credential is remembered too, so that guessing costs auth nothing; an outage isn't.
    answer.catch((error) => {
      const unknown = error instanceof ServiceError && error.kind === 'unauthenticated';
      if (!unknown && this.#asked.get(digest) === asked) this.#asked.delete(digest);
    });
    return answer;
  }
}
