import { LRUCache } from 'lru-cache';
import type { Count, CounterStore, Hit } from '../domain/counter.ts';

/** Counters in this process. Above 100,000 of them, the least recently used one is dropped. */
export class MemoryStore implements CounterStore {
  readonly isConnected = true;
  readonly #windows = new LRUCache<string, { count: number; endsAt: number }>({ max: 100_000 });
  readonly #now: () => number;

  /** @param now milliseconds of a clock that doesn't jump */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  async add({ key, amount, windowMs }: Hit): Promise<Count> {
    // Fractions would add up to one more millisecond.
    const now = Math.floor(this.#now());
    const known = this.#windows.get(key);
    const { count, endsAt } = known && known.endsAt > now ? known : { count: 0, endsAt: now + windowMs };
    this.#windows.set(key, { count: count + amount, endsAt });
    return { count: count + amount, resetInMs: endsAt - now };
  }
}
