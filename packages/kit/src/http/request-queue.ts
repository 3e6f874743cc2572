import type { Response } from 'express';
import type { Work } from '../data/scope.ts';
import { FairQueue } from '../limits/fair-queue.ts';
import { meter } from '../process/telemetry.ts';
import { stateOf } from './request.ts';

/** How many requests of a key wait for their turn: more than the default rate limit, which may arrive at one moment. */
const WAITING_PER_KEY = 1_000;
/** How many requests wait in all, because waiting requests cost memory. */
const WAITING = 2_000;
/** How much of the work that runs at once may be of one key. The rest is left to others, whose work then never waits for that key's. */
const KEY_PART = 3 / 4;
/** How many keys can have all their responses open at once before keys have to share. */
const BUSY_KEYS = 16;
/** A request that takes longer waits for a service or a database, and doesn't keep this process busy. */
const COUNTED_MS = 250;

export interface RequestQueueOptions {
  /** How many requests are worked on at once: a small multiple of what saturates the process. */
  concurrency: number;
  /** How many responses of one organization or address may be open, from the start of their work until their clients have read them. */
  perKey: number;
  /** Whether metrics name organizations. */
  tenantMetrics: boolean;
}

/**
 * Bounds the work of a gateway. Organizations, and addresses of unauthenticated clients, take turns. Open responses are bounded apart from the work, so
 * that clients which read slowly don't hold up the work of others.
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
    const perKeyAtOnce = Math.max(1, Math.floor(concurrency * KEY_PART));
    this.#work = new FairQueue({ name: 'work', total: concurrency, perKey: perKeyAtOnce, countedMs: COUNTED_MS, ...waiting });
    this.#responses = new FairQueue({ name: 'responses', total: perKey * BUSY_KEYS, perKey, ...waiting });
    this.#tenantMetrics = tenantMetrics;
  }

  /**
   * Waits for a request's turn. Its work ends when its response is complete, or when its client has disconnected.
   * @param key an organization's id, or {@link addressKey}
   * @throws ServiceError resource_exhausted if its turn doesn't come in time, deadline_exceeded if the client has disconnected
   */
  async enter(key: string, response: Response): Promise<void> {
    const state = stateOf(response);
    const closed = await this.#responses.acquire(key, state);
    response.once('close', closed);
    // The response may have closed before the listener was there.
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

  /** Runs work that answers no request by itself, in its turn. @throws as {@link enter}, and what the work throws */
  async run<T>(key: string, wanted: Work, work: () => Promise<T>): Promise<T> {
    const done = await this.#work.acquire(key, wanted);
    try {
      return await work();
    } finally {
      done();
    }
  }

  /** OpenTelemetry bounds the number of organizations that are told apart. */
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

/** The key of an unauthenticated client's address. No organization's id has a colon. */
export function addressKey(address: string): string {
  return `address:${address}`;
}

function isAddressKey(key: string): boolean {
  return key.includes(':');
}
