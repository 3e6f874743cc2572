import type { KoaContextWithOIDC } from 'oidc-provider';
import type { SignInContext } from './context.ts';
import { FetchPool } from './fetch-pool.ts';
import { guardedFetch, GuardedFetchError } from '@crs/kit/http/guarded-fetch';
import { forwardedAddress } from './request.ts';
import { FETCHES, secondsToWaitOf } from './throttle.ts';

/** Fetches metadata documents and keys from URLs in requests of unauthenticated clients. */
export class ClientFetches {
  readonly #context: SignInContext;
  /** By host, so that a silent host occupies few places. One URL at a time is enough, because oidc-provider caches documents. */
  readonly #pool = new FetchPool({ total: 16, perKey: 4, urlsPerKey: 1 });
  readonly #documents = new WeakMap<KoaContextWithOIDC, { url: string; response: Promise<Response> }>();

  constructor(context: SignInContext) {
    this.#context = context;
  }

  /**
   * Fetches a request's metadata document before oidc-provider does, whose own fetch lets any number of requests wait for one document.
   * {@link fetch} then returns the document, or throws the error of this fetch.
   */
  async prepare(ctx: KoaContextWithOIDC, url: string): Promise<void> {
    // After a failure, oidc-provider looks the client up again in the same request. It gets the same error.
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
