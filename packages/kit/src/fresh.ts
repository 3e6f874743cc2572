import { LRUCache } from 'lru-cache';

export interface FreshOptions<V> {
  /** How long a value is used (milliseconds), counted from the start of its load. */
  maxAgeMs: number | ((value: V) => number);
  /** From this age on, a value is refreshed in the background when it is used. Absent: never. */
  refreshMs?: number;
  /** While loads fail, a value is used up to this age. Absent: not beyond `maxAgeMs`. */
  staleMs?: number;
  /** The number of values to keep; those used least recently are dropped. */
  max?: number;
}

interface Loaded<V> {
  /** When the load started, by `performance.now()`. */
  startedAt: number;
  value: V;
}

interface Load<V> {
  startedAt: number;
  value: Promise<V>;
  state: 'pending' | 'done' | 'failed';
}

interface Entry<V> {
  /** The value of the latest load that succeeded. */
  latest?: Loaded<V>;
  /** The latest load, whatever its state. */
  load?: Load<V>;
}

/**
 * A cache of values that may change at their source, such as whether a key is revoked. A value's age counts from the start of its load, because only loads
 * that start after a change are sure to see it. Callers share a pending load, which isn't cancelled with the caller that started it.
 */
export class Fresh<V> {
  readonly #options: FreshOptions<V>;
  readonly #entries: LRUCache<string, Entry<V>>;

  constructor(options: FreshOptions<V>) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.max ?? 1_000 });
  }

  /**
   * @param load loads the value; its errors aren't cached
   * @param maxAgeMs overrides the option; 0 requires a load that starts now or later
   * @throws the error of `load`, unless a stale value may be used
   */
  async get(key: string, load: () => Promise<V>, maxAgeMs?: number): Promise<V> {
    const arrivedAt = performance.now();
    let entry = this.#entries.get(key);
    if (!entry) this.#entries.set(key, (entry = {}));
    for (;;) {
      const { latest } = entry;
      if (latest && this.#isUsable(latest, arrivedAt, maxAgeMs)) {
        if (this.#isOlder(entry.load!, this.#options.refreshMs)) this.#start(entry, load).value.catch(() => {});
        return latest.value;
      }
      const stale = latest && !this.#isOlder(latest, this.#options.staleMs ?? -1) ? latest : undefined;
      // While loads fail, retry at most once per refresh interval.
      if (stale && entry.load!.state === 'failed' && !this.#isOlder(entry.load!, this.#options.refreshMs ?? 0))
        return stale.value;
      const shared = this.#pending(entry, arrivedAt, maxAgeMs) ?? this.#start(entry, load);
      try {
        await shared.value;
      } catch (error) {
        if (stale) return stale.value;
        // An earlier load may have failed because of the caller that started it, for example at its deadline.
        if (shared.startedAt >= arrivedAt) throw error;
      }
    }
  }

  /** Returns the latest value, whatever its age, without loading it. */
  peek(key: string): V | undefined {
    return this.#entries.peek(key)?.latest?.value;
  }

  #isUsable(latest: Loaded<V>, arrivedAt: number, maxAgeMs?: number): boolean {
    const { maxAgeMs: usual } = this.#options;
    const allowed = maxAgeMs ?? (typeof usual === 'number' ? usual : usual(latest.value));
    return latest.startedAt >= arrivedAt || !this.#isOlder(latest, allowed);
  }

  /** Returns the pending load if its value may be fresh enough for a caller that arrived at that time. */
  #pending({ load }: Entry<V>, arrivedAt: number, maxAgeMs?: number): Load<V> | undefined {
    if (load?.state !== 'pending') return undefined;
    const { maxAgeMs: usual } = this.#options;
    const allowed = maxAgeMs ?? (typeof usual === 'number' ? usual : Infinity);
    return load.startedAt >= arrivedAt || !this.#isOlder(load, allowed) ? load : undefined;
  }

  #isOlder({ startedAt }: { startedAt: number }, ms = Infinity): boolean {
    return performance.now() - startedAt > ms;
  }

  #start(entry: Entry<V>, load: () => Promise<V>): Load<V> {
    const started: Load<V> = { startedAt: performance.now(), value: load(), state: 'pending' };
    entry.load = started;
    started.value.then(
      (value) => {
        started.state = 'done';
        // A later load may have been faster.
        if (!entry.latest || entry.latest.startedAt <= started.startedAt) entry.latest = { startedAt: started.startedAt, value };
      },
      () => (started.state = 'failed'),
    );
    return started;
  }
}
