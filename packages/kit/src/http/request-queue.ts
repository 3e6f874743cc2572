import type { Response } from 'express';
import type { Work } from '../data/scope.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { meter } from '../process/telemetry.ts';
import { stateOf } from './request.ts';

/** Queue length of one key: more than the default rate limit, which may arrive all at once. */
const WAITING_PER_KEY = 1_000;
/** Queue length of all keys together. Bounded because waiting requests use memory. */
const WAITING = 2_000;
/** The share of concurrent requests that one key may have. The rest is reserved for other keys, so that they never wait for this one. */
const KEY_SHARE = 3 / 4;
/** How many keys can have their maximum of open responses at the same time. */
const BUSY_KEYS = 16;
/** A slow request waits for a service or a database, and doesn't load this process, so it frees its slot after this time. */
const COUNTED_MS = 250;

export interface RequestQueueOptions {
  /** How many requests are processed concurrently: a small multiple of the number that saturates the process. */
  concurrency: number;
  /** How many responses of one organization or address may be open, from the start of processing until the client has read the response. */
  perKey: number;
  /** Whether metrics name organizations. */
  tenantMetrics: boolean;
}

/**
 * Bounds the work of a gateway, fairly between organizations and addresses of unauthenticated clients, which are its keys. Open responses are bounded
 * separately from processing, so that clients that read slowly don't delay the requests of others.
 */
export class RequestQueue {
  readonly #work: FairQueue;
  readonly #responses: FairQueue;
  readonly #tenantMetrics: boolean;
  readonly #tenantRequests = meter('kit').createCounter('crs.tenant.requests', {
    description: 'Requests of an organization that got a slot.',
  });
  readonly #tenantTime = meter('kit').createCounter('crs.tenant.slot_time', {
    unit: 's',
    description: 'Time that requests of an organization held slots.',
  });

  constructor({ concurrency, perKey, tenantMetrics }: RequestQueueOptions) {
    const waiting = { waitingPerKey: WAITING_PER_KEY, waitingTotal: WAITING };
    const perKeyAtOnce = Math.max(1, Math.floor(concurrency * KEY_SHARE));
    this.#work = new FairQueue({ name: 'work', total: concurrency, perKey: perKeyAtOnce, countedMs: COUNTED_MS, ...waiting });
    this.#responses = new FairQueue({ name: 'responses', total: perKey * BUSY_KEYS, perKey, ...waiting });
    this.#tenantMetrics = tenantMetrics;
  }

  /**
   * Waits for a request's slot. The slot is released when the response is complete or the client has disconnected.
   * @param key an organization's id, or {@link addressKey}
   * @throws ServiceError resource_exhausted if it gets no slot in time, deadline_exceeded if the client has disconnected
   */
  async enter(key: string, response: Response): Promise<void> {
    const state = stateOf(response);
    const closed = await this.#responses.acquire(key, state);
    response.once('close', closed);
    // The response may have closed before the listener was added.
    if (state.signal.aborted) closed();
    const done = await this.#work.acquire(key, state);
    const since = performance.now();
    const finish = () => {
      response.off('prefinish', finish).off('close', finish);
      done();
      this.#measure(key, (performance.now() - since) / 1_000);
    };
    response.once('prefinish', finish).once('close', finish);
    if (state.signal.aborted) finish();
  }

  /** Runs work that isn't itself a request, once it gets a slot. @throws as {@link enter}, and what the work throws */
  async run<T>(key: string, wanted: Work, work: () => Promise<T>): Promise<T> {
    const done = await this.#work.acquire(key, wanted);
    try {
      return await work();
    } finally {
      done();
    }
  }

  /** Measures by organization. OpenTelemetry limits how many it distinguishes. */
  #measure(key: string, seconds: number): void {
    if (!this.#tenantMetrics || isAddressKey(key)) return;
    const attributes = { 'crs.organization': key };
    this.#tenantRequests.add(1, attributes);
    this.#tenantTime.add(seconds, attributes);
  }

  close(): void {
    this.#work.close();
    this.#responses.close();
  }
}

/** Returns the key of an unauthenticated client's address. Organization ids have no colons, so keys don't collide. */
export function addressKey(address: string): string {
  return `address:${address}`;
}

function isAddressKey(key: string): boolean {
  return key.includes(':');
}
