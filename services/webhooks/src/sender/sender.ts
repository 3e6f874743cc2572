import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { directoryScope, workFor } from '@crs/kit/data/scope';
import { observeGauge } from '@crs/kit/process/telemetry';
import type { Context } from '../context.ts';
import { claimDue, type Claim } from '../store/due.ts';
import { count } from './attempt.ts';
import { deliver, FAULT_DELAY_MS } from './deliver.ts';
import { watchFeeds, watchSettings } from './watch.ts';

/**
 * Milliseconds between polls. An endpoint hears of a change within a second. A poll of feeds or settings costs about 4 ms of CPU time, and all idle
 * endpoints together may cost 1 % of a core.
 */
export const INTERVALS = {
  feeds: 800,
  /** How long calls may wait for a feed that moves before it responds. Less than the timeout of a call. */
  wait: 4_000,
  settings: 10_000,
  /** For endpoints that another process left behind or enabled. What a poll finds, and a retry, is claimed at once. */
  claims: 5_000,
};
export type Intervals = typeof INTERVALS;
type Task = Exclude<keyof Intervals, 'wait'>;
/** Deliveries under way. An organization has at most 20 endpoints, and so as many deliveries. */
const PLACES = 200;
/** Of these, for endpoints whose last attempt was slow or failed, so that they can't delay all others. */
const SLOW_PLACES = 100;
const STATEMENT_MS = 5_000;
const FAULT_LOG_MS = 60_000;

/** Delivers messages to the endpoints of all organizations, until it is stopped. Several senders share the endpoints by leases. */
export class Sender {
  readonly #context: Context;
  readonly #intervals: Intervals;
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #slowUnderWay = 0;
  /** Whether to claim again at once: something became due, or a place is free. */
  #claimAgain = false;
  /** Ends the pause of the loop that claims endpoints. */
  #endPause: () => void = () => {};
  readonly #removeGauge: () => void;
  #faultLoggedAt = -Infinity;
  /** When each loop last succeeded, by `performance.now()`. */
  readonly #succeededAt = new Map<string, number>();

  constructor(context: Context, intervals: Intervals) {
    this.#context = context;
    this.#intervals = intervals;
    for (const outcome of ['accepted', 'failed'] as const) count(outcome, 0);
    const description = 'Time since the sender last did this successfully.';
    this.#removeGauge = observeGauge('webhooks', 'crs.webhook.idle.time', { unit: 's', description }, (result) => {
      for (const [task, at] of this.#succeededAt) result.observe((performance.now() - at) / 1000, { task });
    });
  }

  start(): void {
    const [feeds, settings] = [watchFeeds(this.#context, this.#intervals.wait), watchSettings(this.#context)];
    const claimIfWoken = (woken: boolean) => void (woken && this.#claimSoon());
    this.#loop('feeds', async () => claimIfWoken(await feeds.poll(this.#stopping.signal)));
    this.#loop('settings', async () => claimIfWoken(await settings.poll(this.#stopping.signal)));
    this.#loop('claims', () => this.#claim());
  }

  /** Claims no more endpoints, and waits for the deliveries under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#claimSoon();
    await Promise.all(this.#loops);
    await Promise.all(this.#underWay);
    this.#removeGauge();
  }

  #loop(task: Task, work: () => Promise<void>): void {
    this.#succeededAt.set(task, performance.now());
    const { signal } = this.#stopping;
    const run = async () => {
      let failed = false;
      while (!signal.aborted) {
        try {
          await work();
          this.#succeededAt.set(task, performance.now());
          failed = false;
        } catch (error) {
          // Once for an outage. Stopping ends a poll.
          if (!failed && !signal.aborted) this.#context.log.warn({ err: error, task }, 'the sender could not do its work');
          failed = true;
        }
        if (task === 'claims') await this.#pause(this.#intervals.claims);
        else await sleep(this.#intervals[task], undefined, { signal }).catch(() => {});
      }
    };
    this.#loops.push(run());
  }

  /** Once a minute, because an outage affects every endpoint. */
  #logFault(error: unknown, { organization, webhookId }: Claim): void {
    if (performance.now() - this.#faultLoggedAt < FAULT_LOG_MS) return;
    this.#faultLoggedAt = performance.now();
    this.#context.log.warn({ err: error, organization, webhook_id: webhookId }, 'a delivery was not tried');
  }

  #claimSoon(): void {
    this.#claimAgain = true;
    this.#endPause();
  }

  async #pause(ms: number): Promise<void> {
    if (!this.#claimAgain) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#endPause = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
    }
    this.#claimAgain = false;
  }

  async #claim(): Promise<void> {
    const { db, now } = this.#context;
    const free = { all: PLACES - this.#underWay.size, slow: SLOW_PLACES - this.#slowUnderWay };
    if (free.all <= 0) return;
    const lease = randomUUID();
    const claimedAt = performance.now();
    const claims = await db.run(directoryScope(workFor(STATEMENT_MS)), claimDue(now(), lease, free));
    for (const claim of claims) {
      if (claim.slow) this.#slowUnderWay++;
      const work = deliver(this.#context, { claim, lease, claimedAt }).catch((error: unknown) => {
        this.#logFault(error, claim);
        return FAULT_DELAY_MS;
      });
      const delivery = work.then((dueInMs) => {
        if (claim.slow) this.#slowUnderWay--;
        this.#underWay.delete(delivery);
        // A place is free, and the endpoint may have more to deliver.
        this.#claimSoon();
        if (dueInMs) setTimeout(() => this.#claimSoon(), dueInMs).unref();
      });
      this.#underWay.add(delivery);
    }
  }
}
