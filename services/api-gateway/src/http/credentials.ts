import { digestOf, isApiKey } from '@crs/kit/api-key';
import { ServiceError } from '@crs/kit/errors';
import type { CallOptions, ServiceClient } from '@crs/kit/grpc-client';
import type { AuthenticateKeyResponse, AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { LRUCache } from 'lru-cache';
import { unauthorized } from './refusal.ts';

/** A remembered answer ages from the moment it was asked for; past this it is never used, whatever state auth is in. */
const REMEMBER_MS = 1_000;
const MAX_REMEMBERED = 10_000;

interface Asked {
  at: number;
  answer: Promise<AuthenticateKeyResponse>;
}

/** Turns API keys into caller tokens: auth is asked once a second for a key in use, and not at all for what can't be a key. */
export class Credentials {
  readonly #auth: ServiceClient<AuthServiceService>;
  readonly #asked = new LRUCache<string, Asked>({ max: MAX_REMEMBERED });

  constructor(auth: ServiceClient<AuthServiceService>) {
    this.#auth = auth;
  }

  /** @throws Refusal 401, or ServiceError where auth can't be asked */
  async resolve(authorization: string | undefined, call: CallOptions): Promise<AuthenticateKeyResponse> {
    const key = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
    if (key === undefined || !isApiKey(key)) throw unauthorized();
    const digest = digestOf(key).toString('base64');
    const arrived = performance.now();
    for (;;) {
      const known = this.#asked.get(digest);
      if (!known || performance.now() - known.at > REMEMBER_MS) return this.#ask(key, digest, call);
      // Whoever joins a question gets an answer that has aged meanwhile. Too old, it is as good as one's own only where it was asked
      // for no earlier than one's own would have been.
      const answer = await known.answer;
      if (known.at >= arrived || performance.now() - known.at <= REMEMBER_MS) return answer;
    }
  }

  #ask(apiKey: string, digest: string, { deadline }: CallOptions): Promise<AuthenticateKeyResponse> {
    // Not cancelled with the request that happens to ask: others wait for the same answer.
    const at = performance.now();
    const answer = this.#auth.authenticateKey({ apiKey }, deadline === undefined ? {} : { deadline });
    const asked = { at, answer };
    this.#asked.set(digest, asked);
    // An unknown key is remembered too, so that guessing costs auth nothing; an outage isn't.
    answer.catch((error) => {
      const unknown = error instanceof ServiceError && error.kind === 'unauthenticated';
      if (!unknown && this.#asked.get(digest) === asked) this.#asked.delete(digest);
    });
    return answer;
  }
}
