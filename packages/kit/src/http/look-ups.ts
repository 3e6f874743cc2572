import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import type { Check, RateLimiter } from '../limits/limiter.ts';
import { addressKey, type RequestQueue } from './request-queue.ts';

/** For a network over its limit: pause after each look-up (milliseconds). */
const PAUSE_MS = 25;
/** For a network over its limit: the queue length. */
const MAX_WAITING = 16;
/** The number of networks with queues. */
const MAX_NETWORKS = 1_000;
/** How long a look-up may queue (milliseconds). */
const MAX_WAIT_MS = 2_000;

interface Queue {
  /** Settles when the next look-up may begin. */
  free: Promise<unknown>;
  waiting: number;
}

/**
 * Limits the look-ups of credentials that auth hasn't verified yet: otherwise a client could cause a call to auth with each made-up credential. Look-ups
 * queue by the client's address. A credential from an address over its limit is probably a guess, but might be a valid new one, which has a limit of its
 * own. So for each network over its limit, credentials are looked up one at a time, with a pause after each, from a short queue.
 */
export class LookUps {
  readonly #limiter: RateLimiter;
  readonly #queue: RequestQueue;
  /** By the widest network of the address, so that a client with many addresses has only one queue. */
  readonly #slow = new Map<string, Queue>();

  constructor(limiter: RateLimiter, queue: RequestQueue) {
    this.#limiter = limiter;
    this.#queue = queue;
  }

  /**
   * @param check the charge of the client's address
   * @param deadline epoch milliseconds
   * @throws ServiceError unauthenticated for a credential that isn't looked up, resource_exhausted, or what the look-up throws
   */
  run<T>(check: Check, deadline: number, lookUp: () => Promise<T>): Promise<T> {
    if (this.#limiter.isUsedUp(check)) return this.#runSlowly(check.wider?.at(-1)?.id ?? check.id, lookUp);
    return this.#queue.run(addressKey(check.id), { deadline }, lookUp);
  }

  async #runSlowly<T>(network: string, lookUp: () => Promise<T>): Promise<T> {
    const queue = this.#slow.get(network) ?? { free: Promise.resolve(), waiting: 0 };
    if (queue.waiting >= MAX_WAITING || (queue.waiting === 0 && this.#slow.size >= MAX_NETWORKS)) throw notLookedUp();
    this.#slow.set(network, queue);
    queue.waiting++;
    const arrived = performance.now();
    const found = queue.free.then(() => {
      // While auth is slow, the last look-ups of the queue would otherwise wait too long.
      if (performance.now() - arrived > MAX_WAIT_MS) throw notLookedUp();
      return lookUp();
    });
    queue.free = found
      .catch(() => {})
      .then(async () => {
        queue.waiting--;
        await sleep(PAUSE_MS);
        if (queue.waiting === 0) this.#slow.delete(network);
      });
    return found;
  }
}

/** The kind doesn't reach the client: the gateway charges the address for an invalid credential, and that charge refuses the request with 429. */
function notLookedUp(): ServiceError {
  return new ServiceError(
    'unauthenticated',
    'The credential was not looked up, because the rate limit of the address is used up.',
  );
}
