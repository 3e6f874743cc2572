/** The pool has no place for a fetch. The same request may succeed a moment later. */
export class FetchesBusy extends Error {
  override readonly name = 'FetchesBusy';

  constructor() {
    super('Too many fetches are under way.');
  }
}

interface FetchPoolLimits {
  total: number;
  perKey: number;
  /** Different URLs of one key that are fetched at once. */
  urlsPerKey: number;
}

interface Waiting {
  count: number;
  /** Fetches that further requests may share, by URL. */
  shared: Map<string, Promise<Response>>;
}

/**
 * Bounds the requests that wait for fetches from hosts that outsiders chose. Such a host may accept a connection and stay silent, and each
 * request that waits for it holds a slot of the tool gateway, which other people need to sign in. A request without a place is therefore
 * refused at once.
 */
export class FetchPool {
  readonly #limits: FetchPoolLimits;
  readonly #keys = new Map<string, Waiting>();
  #total = 0;

  constructor(limits: FetchPoolLimits) {
    this.#limits = limits;
  }

  /**
   * Waits for a fetch.
   * @param key whose requests have a limit of their own, such as a host
   * @param url of a fetch whose result other requests may share; undefined: this request needs a fetch of its own
   * @throws FetchesBusy
   */
  async fetch(key: string, url: string | undefined, start: () => Promise<Response>): Promise<Response> {
    const { total, perKey, urlsPerKey } = this.#limits;
    const waiting: Waiting = this.#keys.get(key) ?? { count: 0, shared: new Map() };
    const shared = url === undefined ? undefined : waiting.shared.get(url);
    if (this.#total >= total || waiting.count >= perKey || (!shared && waiting.shared.size >= urlsPerKey))
      throw new FetchesBusy();
    this.#keys.set(key, waiting);
    this.#total++;
    waiting.count++;
    try {
      if (url === undefined) return await start();
      const fetched = shared ?? start().finally(() => waiting.shared.delete(url));
      waiting.shared.set(url, fetched);
      return (await fetched).clone();
    } finally {
      this.#total--;
      if (--waiting.count === 0) this.#keys.delete(key);
    }
  }
}

/** Whether an error, or one of its causes, is {@link FetchesBusy}: libraries wrap what a fetch throws. */
export function isBusy(error: unknown): boolean {
  return error instanceof FetchesBusy || (error instanceof Error && isBusy(error.cause));
}
