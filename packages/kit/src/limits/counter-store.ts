/** One charge to one counter. */
export interface Hit {
  /** Names the counter. Windows of different length need different keys. */
  key: string;
  /** Whole; 0 only looks, though it opens a window, too. */
  amount: number;
  /** How long the window stays open, if this hit opens it. */
  windowMs: number;
  /** What is known to have been counted in this window before, even if the counter was lost meanwhile. */
  atLeast?: number;
}

/** A counter, as a hit left it. */
export interface Count {
  /** Everything charged in this window, the hit included. */
  count: number;
  /** Whole milliseconds until the window closes, at least 1. A hit that comes this much later finds a new window. */
  resetInMs: number;
}

/**
 * Counts hits in fixed windows. A window opens with the first hit on its key and closes `windowMs` later, however many hits follow.
 * An `add` is atomic: of hits on one key at the same time, each gets a count of its own, and none is lost. What was charged stays
 * charged; there is no taking back.
 */
export interface CounterStore {
  /** @throws ServiceError unavailable; the hit may have been counted nevertheless */
  add(hit: Hit): Promise<Count>;
}

interface Window {
  count: number;
  endsAt: number;
}

const SWEEP_EVERY_MS = 10_000;

/** Counters of this process alone. They take bounded room: closed windows are swept, and past `maxWindows` the oldest one is forgotten. */
export class MemoryStore implements CounterStore {
  /** In the order in which they opened. */
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;
  readonly #maxWindows: number;
  #sweepAt = -Infinity;

  /** @param now milliseconds of any epoch; the default doesn't jump with the wall clock */
  constructor(now: () => number = () => performance.now(), maxWindows = 100_000) {
    this.#now = now;
    this.#maxWindows = maxWindows;
  }

  /** How many windows are held. */
  get size(): number {
    return this.#windows.size;
  }

  async add({ key, amount, windowMs, atLeast = 0 }: Hit): Promise<Count> {
    // Of fractions, sums of floating-point numbers would make one more millisecond.
    const now = Math.floor(this.#now());
    this.#sweep(now);
    let window = this.#windows.get(key);
    if (!window || window.endsAt <= now) window = this.#open(key, now + windowMs);
    window.count = Math.max(window.count, atLeast) + amount;
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
