import type { KoaContextWithOIDC } from 'oidc-provider';
import type { SignInContext } from './context.ts';
import { FetchPool } from './fetch-pool.ts';
import { guardedFetch, GuardedFetchError } from './guarded-fetch.ts';
import { forwardedAddress } from './request.ts';
import { FETCHES, secondsToWaitOf } from './throttle.ts';

/** Fetches metadata documents and keys from addresses that clients name. Anybody can name any address. */
export class ClientFetches {
  readonly #context: SignInContext;
  /** By host: a host that stays silent holds few places, and one that answers needs one fetch, because oidc-provider caches its document. */
  readonly #pool = new FetchPool({ total: 16, perKey: 4, urlsPerKey: 1 });
  readonly #documents = new WeakMap<KoaContextWithOIDC, { url: string; response: Promise<Response> }>();

  constructor(context: SignInContext) {
    this.#context = context;
  }

  /**
   * Waits for the document of a request before oidc-provider fetches it: there, any number of requests would wait for a document that is
   * under way already. {@link fetch} then returns the document, or throws what went wrong.
   */
  async prepare(ctx: KoaContextWithOIDC, url: string): Promise<void> {
    // After a failure, oidc-provider looks for the client again: the same request then gets the same answer.
    if (this.#documents.get(ctx)?.url === url) return;
    const response = this.#get(ctx, url);
    this.#documents.set(ctx, { url, response });
    await response.catch(() => {});
  }

  /** @throws GuardedFetchError, FetchesBusy */
  async fetch(ctx: KoaContextWithOIDC, url: string, headers: Headers): Promise<Response> {
    const document = this.#documents.get(ctx);
    return document?.url === url ? (await document.response).clone() : this.#get(ctx, url, headers);
  }

  async #get(ctx: KoaContextWithOIDC, url: string, headers = new Headers()): Promise<Response> {
    const seconds = await secondsToWaitOf(this.#context, FETCHES, forwardedAddress(ctx.req));
    if (seconds > 0) throw new GuardedFetchError('too many fetches were made for the address of the client');
    const { cimdAllowHosts: allowHosts, proxyUrl } = this.#context;
    const options = { headers: Object.fromEntries(headers), allowHosts, proxyUrl };
    return this.#pool.fetch(URL.parse(url)?.host ?? '', url, () => guardedFetch(url, options));
  }
}
