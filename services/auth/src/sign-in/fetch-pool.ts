/** The pool is full. The same request may succeed a moment later. */
export class FetchesBusy extends Error {
  override readonly name = 'FetchesBusy';

  constructor() {
    super('Too many fetches are under way.');
  }
}

/**
 * Bounds the requests that wait for fetches from untrusted hosts. Such a host may accept a connection and stay silent, and each request that
 * waits for it occupies a slot of the tool gateway, which other users need to sign in. A request that finds the pool full fails at once.
 */
export class FetchPool {
  readonly #limits: { total: number; perKey: number; urlsPerKey: number };
  /** By key: how many requests wait, and the fetches that further requests may share, by URL. */
  readonly #keys = new Map<string, { count: number; shared: Map<string, Promise<Response>> }>();
  #total = 0;

  /** @param limits how many requests may wait, in all and for one key, and how many distinct URLs of a key are fetched concurrently */
  constructor(limits: { total: number; perKey: number; urlsPerKey: number }) {
    this.#limits = limits;
  }

  /**
   * Fetches, or waits for another request's fetch of the same URL.
   * @param key has a limit of its own, such as a host
   * @param url undefined: the response belongs to this request alone, and isn't shared
   * @throws FetchesBusy, and what `start` throws
   */
  async fetch(key: string, url: string | undefined, start: () => Promise<Response>): Promise<Response> {
    const { total, perKey, urlsPerKey } = this.#limits;
    const waiting = this.#keys.get(key) ?? { count: 0, shared: new Map<string, Promise<Response>>() };
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

/** Whether an error or one of its causes is {@link FetchesBusy}. Libraries wrap errors of fetches. */
export function isBusy(error: unknown): boolean {
  return error instanceof FetchesBusy || (error instanceof Error && isBusy(error.cause));
}
