import { FixedWindows } from '@crs/kit/limits/fixed-windows';
import type { Count, CounterStore, Hit } from '../domain/counter.ts';

/** Counters of a single process, without Redis. */
export class MemoryStore implements CounterStore {
  readonly #windows: FixedWindows;

  /** @param now milliseconds of a monotonic clock */
  constructor(now?: () => number) {
    this.#windows = new FixedWindows(now);
  }

  async add({ key, amount, windowMs, limit }: Hit): Promise<Count> {
    return this.#windows.add(key, amount, windowMs, limit);
  }
}
