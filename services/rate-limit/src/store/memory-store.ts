import type { Count, CounterStore, Hit } from '../domain/counter.ts';

interface Window {
  count: number;
  endsAt: number;
}

const SWEEP_EVERY_MS = 10_000;

/** Counters in this process. Memory is bounded: closed windows are swept, and the oldest window is dropped above `maxWindows`. */
export class MemoryStore implements CounterStore {
  readonly isConnected = true;
  /** By key, in the order in which they opened. */
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;
  readonly #maxWindows: number;
  #sweepAt = -Infinity;

  /** @param now milliseconds of a clock that doesn't jump */
  constructor(now: () => number = () => performance.now(), maxWindows = 100_000) {
    this.#now = now;
    this.#maxWindows = maxWindows;
  }

  /** The number of windows in memory. */
  get size(): number {
    return this.#windows.size;
  }

  async add({ key, amount, windowMs }: Hit): Promise<Count> {
    // Fractions would add up to one more millisecond.
    const now = Math.floor(this.#now());
    this.#sweep(now);
    let window = this.#windows.get(key);
    if (!window || window.endsAt <= now) window = this.#open(key, now + windowMs);
    window.count += amount;
    return { count: window.count, resetInMs: window.endsAt - now };
  }

  #open(key: string, endsAt: number): Window {
    this.#windows.delete(key);
    if (this.#windows.size >= this.#maxWindows) this.#windows.delete(this.#windows.keys().next().value!);
    const window = { count: 0, endsAt };
    this.#windows.set(key, window);
    return window;
  }

  #sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + SWEEP_EVERY_MS;
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key);
  }
}
