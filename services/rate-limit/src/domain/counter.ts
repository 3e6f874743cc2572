export interface Hit {
  /** Names the counter. Windows of different lengths need different keys. */
  key: string;
  /** A whole number. 0 only reads the counter, but opens a window too. */
  amount: number;
  /** How long the window stays open, if this hit opens it. */
  windowMs: number;
  /** A hit that would exceed it isn't counted at all. */
  limit: number;
}

export interface Count {
  /** All counted hits of this window. */
  count: number;
  /** Whether this hit is among them. */
  allowed: boolean;
  /** Whole milliseconds until the window closes, at least 1. A hit after that opens a new window. */
  resetInMs: number;
}

/**
 * Counts hits in fixed windows. A window opens with the first hit on its key and closes `windowMs` later, however many hits follow.
 * `add` is atomic: simultaneous hits on one key each get their own count, and none is lost. A hit can't be taken back.
 */
export interface CounterStore {
  /** @throws ServiceError unavailable; the hit may have been counted nevertheless */
  add(hit: Hit): Promise<Count>;
}
