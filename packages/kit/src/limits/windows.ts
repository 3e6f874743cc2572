import { LRUCache } from 'lru-cache';
import type { Rule, Verdict } from './rule.ts';

/** Times are milliseconds of any one clock that doesn't jump. */
interface Window {
  /** Of the rule. */
  limit: number;
  /** What the service said last, or the limit. */
  remaining: number;
  /** At the latest; what clients are told. */
  endsAt: number;
  /** At the earliest, where the service has refused: until then it would refuse again. */
  refusedUntil: number;
  own: Own | undefined;
}

/** What this process grants by itself. */
interface Own {
  limit: number;
  left: number;
  /** And the service doesn't know of. */
  granted: number;
  /** While the service is being told. */
  telling: boolean;
}

/** What was granted here of a window that is still open, what the service had counted in it before, and how long it stays open. */
export interface Carried {
  granted: number;
  counted: number;
  windowMs: number;
}

const MAX_WINDOWS = 100_000;

/**
 * What a process knows of the windows in which its requests are counted: from what the service said, and by its own count while the
 * service is away. A window survives the change from one to the other, and back. Bounded; what is forgotten is asked anew.
 */
export class Windows {
  readonly #windows: LRUCache<string, Window>;

  constructor(max = MAX_WINDOWS) {
    this.#windows = new LRUCache({ max });
  }

  /** Notes what the service said to a charge that was sent at `asked`. */
  learn(key: string, { allowed, limit, remaining, resetInMs }: Verdict, asked: number, now: number): void {
    let own = this.#open(key, now)?.own;
    // The service's word on what remains is whole.
    if (own?.granted === 0) own = undefined;
    const refusedUntil = allowed ? -Infinity : asked + resetInMs;
    this.#windows.set(key, { limit, remaining, endsAt: now + resetInMs, refusedUntil, own });
  }

  /** The refusal that the service would surely repeat. */
  refusal(key: string, now: number): Verdict | undefined {
    const window = this.#windows.get(key);
    if (!window || window.refusedUntil <= now) return undefined;
    return { allowed: false, limit: window.limit, remaining: 0, resetInMs: Math.ceil(window.endsAt - now) };
  }

  /**
   * Counts a charge here. Each of `replicas` grants its part of what the window had left when the service was last heard of, so that
   * all of them together grant about that.
   */
  count(key: string, rule: Rule, replicas: number, now: number): Verdict {
    let window = this.#open(key, now);
    if (!window) {
      const endsAt = now + rule.periodSeconds * 1_000;
      window = { limit: rule.requests, remaining: rule.requests, endsAt, refusedUntil: -Infinity, own: undefined };
      this.#windows.set(key, window);
    }
    const limit = Math.max(1, Math.floor(rule.requests / replicas));
    window.own ??= { limit, left: Math.min(limit, Math.ceil(window.remaining / replicas)), granted: 0, telling: false };
    const allowed = window.own.left > 0;
    if (allowed) {
      window.own.left--;
      window.own.granted++;
    }
    return { allowed, limit, remaining: window.own.left, resetInMs: Math.ceil(window.endsAt - now) };
  }

  /** What the service is to be told, with the next charge and by nobody else meanwhile; {@link told} says what became of it. */
  tell(key: string, now: number): Carried | undefined {
    const window = this.#open(key, now);
    if (!window?.own || window.own.granted === 0 || window.own.telling) return undefined;
    window.own.telling = true;
    const counted = window.limit - window.remaining;
    return { granted: window.own.granted, counted, windowMs: Math.ceil(window.endsAt - now) };
  }

  /** Whether the service is being told: until it is, what it says to others would leave out what was granted here. */
  isTelling(key: string): boolean {
    return this.#windows.get(key)?.own?.telling ?? false;
  }

  /** @param granted what the service knows of now; 0 if it couldn't be told */
  told(key: string, granted: number): void {
    const window = this.#windows.get(key);
    if (!window?.own) return;
    window.own.telling = false;
    window.own.granted -= granted;
    if (granted > 0 && window.own.granted === 0) window.own = undefined;
  }

  #open(key: string, now: number): Window | undefined {
    const window = this.#windows.get(key);
    return window && window.endsAt > now ? window : undefined;
  }
}
