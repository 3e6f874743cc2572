import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import type { Check, RateLimiter } from '../limits/limiter.ts';
import { addressKey, type RequestQueue } from './request-queue.ts';

/** The pause after each look-up for a network whose limit is used up (milliseconds). */
const PAUSE_MS = 25;
/** How many look-ups of such a network wait. */
const WAITING = 16;
/** How many networks may have look-ups that wait. */
const NETWORKS = 1_000;
/** How long a look-up waits (milliseconds). */
const MAX_WAIT_MS = 2_000;

interface Queue {
  /** Settles when the next look-up may begin. */
  free: Promise<unknown>;
  waiting: number;
}

/**
 * Looks up credentials that auth hasn't verified yet, each in the turn of its client's address. Once the limit of the address is used up, such a
 * credential is almost surely a guess, but it may be a new good one, which has a limit of its own. So they are then looked up one at a time for each
 * network, with a pause after each, and few wait. Without this, an address over its limit could cause a look-up by every request that carries another
 * made-up credential.
 */
export class LookUps {
  readonly #limiter: RateLimiter;
  readonly #queue: RequestQueue;
  /** By the widest network of the address, so that the owner of many addresses has one queue. */
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
    if (queue.waiting >= WAITING || (queue.waiting === 0 && this.#slow.size >= NETWORKS)) throw notLookedUp();
    this.#slow.set(network, queue);
    queue.waiting++;
    const arrived = performance.now();
    const found = queue.free.then(() => {
      // While auth is slow, the look-ups at the end of the queue would wait too long.
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

/** The address's charge refuses the request, whatever its credential would be. */
function notLookedUp(): ServiceError {
  return new ServiceError(
    'unauthenticated',
    'The credential was not looked up, because the rate limit of the address is used up.',
  );
}
