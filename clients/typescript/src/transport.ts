import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectionError, ProtocolError, RateLimitedError, errorOf, type CallResearchError } from './errors.ts';

/** How one call of the client behaves. Times are in milliseconds. */
export interface RequestOptions {
  /** For one attempt, until the body has been read; 30,000 by default. */
  timeout?: number | undefined;
  /** Further attempts after the first; 5 by default. */
  maxRetries?: number | undefined;
  /** For all attempts and waits of one request; 300,000 by default. */
  budget?: number | undefined;
  /** Aborts the request or the wait. The call then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface Request {
  method: 'GET' | 'POST';
  path: string;
  query?: object | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | undefined;
}

export interface RawResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** During a longer wait, a program would seem to hang. */
const LONGEST_WAIT = 120_000;
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** Spreads the requests of clients that wait for the same time. */
const SPREAD = 250;
const DEFAULTS: { timeout: number; maxRetries: number; budget: number; signal?: AbortSignal } = {
  timeout: 30_000,
  maxRetries: 5,
  budget: 300_000,
};

const now = () => performance.now();

/** Sends requests, and retries them after transient errors. After a 429, all requests of the transport wait. */
export class Transport {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #defaults: RequestOptions;
  #pausedUntil = 0;

  constructor(base: string, headers: Record<string, string>, defaults: RequestOptions) {
    if (!/^https?:\/\/[^/]/.test(base))
      throw new TypeError('baseUrl: must begin with https:// or http://, such as https://api.example.com/v1');
    this.#base = new URL(base).href.replace(/\/$/, '');
    // Throws for a key with a line break. `fetch` would fail with it as with a broken connection, which is retried.
    void new Headers(headers);
    this.#headers = headers;
    this.#defaults = defaults;
  }

  /** @returns a response with a status of 2xx or 304 @throws CallResearchError, or the reason of the signal */
  async send(request: Request, options: RequestOptions = {}): Promise<RawResponse> {
    const { maxRetries, signal, ...settings } = { ...DEFAULTS, ...given(this.#defaults), ...given(options) };
    const deadline = now() + settings.budget;
    const requestIds: string[] = [];
    for (let attempt = 0; ; attempt++) {
      await this.#waitOutPause(deadline, signal, requestIds);
      const timeout = Math.min(settings.timeout, deadline - now());
      const outcome = await this.#try(request, timeout, signal, requestIds);
      const hasResponse = !(outcome instanceof ConnectionError);
      if (hasResponse && (outcome.status < 300 || outcome.status === 304)) return outcome;
      const retryAfter = hasResponse ? retryAfterOf(outcome) : undefined;
      const error = hasResponse ? failure(outcome, requestIds, retryAfter) : outcome;
      const wait = retryAfter === undefined ? pause(attempt) : retryAfter + Math.random() * SPREAD;
      const isAllowed = (retryAfter ?? 0) <= LONGEST_WAIT;
      if (error.status === 429 && isAllowed) this.#pausedUntil = Math.max(this.#pausedUntil, now() + (retryAfter ?? wait));
      if (!canHelp(error, attempt, retryAfter !== undefined) || attempt >= maxRetries || !isAllowed || now() + wait > deadline)
        throw error;
      await sleep(wait, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }

  async #waitOutPause(deadline: number, signal: AbortSignal | undefined, requestIds: string[]): Promise<void> {
    signal?.throwIfAborted();
    for (let left = this.#pausedUntil - now(); left > 0; left = this.#pausedUntil - now()) {
      if (this.#pausedUntil > deadline) {
        throw new RateLimitedError(`the rate limit is used up, and the budget ends before the next window`, {
          code: 'rate_limited',
          status: 429,
          requestIds,
          retryAfter: Math.ceil(left / 1_000),
        });
      }
      await sleep(left + Math.random() * SPREAD, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }

  async #try(
    { method, path, query = {}, headers, body }: Request,
    timeout: number,
    signal: AbortSignal | undefined,
    requestIds: string[],
  ): Promise<RawResponse | ConnectionError> {
    const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)])).toString();
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(() => controller.abort(new Error(`no complete response within ${Math.round(timeout)} ms`)), timeout);
    try {
      const response = await fetch(`${this.#base}${path}${search && `?${search}`}`, {
        method,
        headers: { ...this.#headers, ...headers },
        ...(body !== undefined && { body }),
        redirect: 'manual',
        signal: controller.signal,
      });
      const requestId = response.headers.get('X-Request-Id');
      if (requestId !== null) requestIds.push(requestId);
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (cause) {
      signal?.throwIfAborted();
      return new ConnectionError(`no complete response to ${method} ${path}: ${reasonOf(cause)}`, { requestIds, cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

/** Omits undefined options, so that they don't override the defaults. */
function given({ timeout, maxRetries, budget, signal }: RequestOptions) {
  return {
    ...(timeout !== undefined && { timeout }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(budget !== undefined && { budget }),
    ...(signal !== undefined && { signal }),
  };
}

function failure({ status, text }: RawResponse, requestIds: string[], retryAfter: number | undefined): CallResearchError {
  if (status < 400) return new ProtocolError(`the response has status ${status}`, { status, requestIds });
  return errorOf(status, text, requestIds, retryAfter === undefined ? undefined : Math.ceil(retryAfter / 1_000));
}

/**
 * Whether a retry can help. A 409 says when to retry if a request with this idempotency key is in progress, which may be our earlier attempt. Without
 * that, it is a refusal, such as by a legal hold.
 */
function canHelp({ status }: CallResearchError, attempt: number, saysWhen: boolean): boolean {
  return status === null || status === 408 || status === 429 || status >= 500 || (status === 409 && attempt > 0 && saysWhen);
}

/** Returns the milliseconds to wait by the response's headers. Compares times with the service's clock, because this machine's may be wrong. */
function retryAfterOf({ status, headers }: RawResponse): number | undefined {
  const from = Date.parse(headers.get('Date') ?? '') || Date.now();
  const after = headers.get('Retry-After');
  if (after !== null && after.trim() !== '') {
    const wait = Number.isNaN(Number(after)) ? Date.parse(after) - from : Number(after) * 1_000;
    if (!Number.isNaN(wait)) return Math.max(0, wait);
  }
  const reset = Number(headers.get('X-RateLimit-Reset') ?? NaN);
  return status === 429 && !Number.isNaN(reset) ? Math.max(0, reset * 1_000 - from) : undefined;
}

const pause = (attempt: number) => Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2);

/** Describes an error of `fetch`, whose cause names the reason for a broken connection. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
