import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, RateLimiter } from '../limits/limiter.ts';
import type { Decision } from '../limits/rule.ts';
import type { Recalled } from './repeated.ts';

/** The pause after each look-up (milliseconds). */
const PACE_MS = 25;
/** How many credentials of one network may wait for their look-up. */
const WAITING = 16;
/** How many networks may have credentials that wait. */
const NETWORKS = 1_000;
/** How long a credential waits for its look-up (milliseconds). */
const PATIENCE_MS = 2_000;

/** A request whose credential has to be looked up. */
export interface Guess {
  /** The charge of the client's address. */
  check: Check;
  digest: string;
  /** Looks the credential up. Rejects unless the credential is good. */
  lookUp: () => Promise<unknown>;
  /** The refusal of a request over the limit of its address. */
  over: (decision: Decision) => Recalled;
}

interface Queue {
  /** Settles when the next look-up may begin. */
  free: Promise<unknown>;
  /** Whether each waiting credential is good, by digest. */
  waiting: Map<string, Promise<boolean>>;
}

/**
 * Looks up unknown credentials from addresses whose limit is used up. Such a credential is almost surely a guess, but it may be a new good
 * one, which has a limit of its own. So they are looked up one at a time for each network, with a pause after each. Without this, an address
 * over its limit could cause a look-up by every request that carries another made-up credential.
 */
export class Guesses {
  readonly #limiter: RateLimiter;
  /** By the widest network of the address, so that the owner of many addresses has one queue. */
  readonly #queues = new Map<string, Queue>();

  constructor(limiter: RateLimiter) {
    this.#limiter = limiter;
  }

  /**
   * The refusal of a request with an unknown credential. A credential that finds the queue full is refused without a look-up.
   * @returns undefined, at once or later, where the app has to answer: the address still has requests left, or the credential is good
   */
  refuse({ check, digest, lookUp, over }: Guess): Recalled | Promise<Recalled | undefined> | undefined {
    if (!this.#limiter.isUsedUp(check)) return undefined;
    const refusal = () => {
      const decision = this.#limiter.recall(check);
      return decision && over(decision);
    };
    const isGood = this.#enqueue(check.wider?.at(-1)?.id ?? check.id, digest, lookUp);
    return isGood ? isGood.then((good) => (good ? undefined : refusal())) : refusal();
  }

  /** Whether a credential is good, once it is its turn; undefined where too many wait already. */
  #enqueue(network: string, digest: string, lookUp: () => Promise<unknown>): Promise<boolean> | undefined {
    const queue = this.#queues.get(network) ?? { free: Promise.resolve(), waiting: new Map<string, Promise<boolean>>() };
    const known = queue.waiting.get(digest);
    if (known) return known;
    if (queue.waiting.size >= WAITING || (queue.waiting.size === 0 && this.#isFull(network))) return undefined;
    this.#queues.set(network, queue);
    const arrived = performance.now();
    const isGood = queue.free.then(async () => {
      // While auth is slow, the credentials at the end of the queue would wait too long.
      if (performance.now() - arrived > PATIENCE_MS) return false;
      return lookUp().then(
        () => true,
        () => false,
      );
    });
    queue.waiting.set(digest, isGood);
    queue.free = isGood.then(async () => {
      queue.waiting.delete(digest);
      await sleep(PACE_MS);
      if (queue.waiting.size === 0) this.#queues.delete(network);
    });
    return isGood;
  }

  #isFull(network: string): boolean {
    return this.#queues.size >= NETWORKS && !this.#queues.has(network);
  }
}
