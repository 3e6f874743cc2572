import { LRUCache } from 'lru-cache';

interface Window {
  count: number;
  endsAt: number;
}

/** Counts hits in fixed windows, in the memory of this process. A window opens with the first hit on its key. */
export class FixedWindows {
  readonly #windows: LRUCache<string, Window>;
  readonly #now: () => number;

  /**
   * @param now milliseconds of a monotonic clock
   * @param max the number of windows that are kept; those used least recently are dropped
   */
  constructor(now: () => number = () => performance.now(), max = 100_000) {
    this.#now = now;
    this.#windows = new LRUCache({ max });
  }

  /**
   * Counts all of the hits, or none if they would exceed the limit.
   * @returns all counted hits of the window, whether these are among them, and the whole milliseconds until it closes
   */
  add(key: string, amount: number, windowMs: number, limit: number): { count: number; allowed: boolean; resetInMs: number } {
    // Whole milliseconds, because sums of fractions could be rounded up to one more.
    const now = Math.floor(this.#now());
    let window = this.#windows.get(key);
    if (!window || window.endsAt <= now) this.#windows.set(key, (window = { count: 0, endsAt: now + windowMs }));
    const allowed = window.count + amount <= limit;
    if (allowed) window.count += amount;
    return { count: window.count, allowed, resetInMs: window.endsAt - now };
  }

  delete(key: string): void {
    this.#windows.delete(key);
  }
}
