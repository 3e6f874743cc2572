import { deadlineExceeded, overloaded, ServiceError } from '../errors.ts';
import type { Work } from '../data/scope.ts';
import { meter, observeGauge } from '../process/telemetry.ts';

export interface FairQueueOptions {
  /** Label of the metrics. */
  name: string;
  /** The number of slots. */
  total: number;
  /** The slots that one key may hold. */
  perKey: number;
  /** Frees a slot after this many milliseconds, because work that takes that long mostly waits for another process. Absent: never. */
  countedMs?: number;
  /** The queue length of one key. */
  waitingPerKey: number;
  /** The queue length of all keys together. */
  waitingTotal: number;
}

/** Frees a slot. A second call has no effect. */
export type Release = () => void;

interface Waiter {
  since: number;
  resolve: (release: Release) => void;
  reject: (error: unknown) => void;
}

/** The work of one key. */
interface Flow {
  key: string;
  held: number;
  /** In order of arrival. */
  waiting: Set<Waiter>;
}

/** Work waits for at most this share of the time until its deadline, which leaves a fifth for the work itself. */
const WAIT_SHARE = 0.8;

/**
 * Bounds concurrent work, so that one tenant can't displace another. There is a fixed number of slots, and one key may hold some of them. When no slot
 * is free, work queues: first come, first served within a key, round robin between keys.
 *
 * Queues are bounded as well. When the total is reached, a newcomer to a shorter queue displaces the last waiter of the longest one. Work that gets no
 * slot in time is refused as {@link overloaded}.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #flows = new Map<string, Flow>();
  /** Flows that may get the next free slot, in turn: they have waiters, and their keys may hold more slots. */
  readonly #turns = new Set<Flow>();
  #held = 0;
  #waiting = 0;
  readonly #attributes: Record<string, string>;
  readonly #shed = meter('kit').createCounter('crs.bulkhead.shed', {
    description: 'Work that was refused because of overload.',
  });
  readonly #waited = meter('kit').createHistogram('crs.bulkhead.wait.duration', {
    unit: 's',
    description: 'Time that work waited for a slot.',
  });
  readonly #closeMetrics: () => void;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#attributes = { 'crs.bulkhead.name': options.name };
    // A counter must start at zero, or `increase()` would miss the first refusal.
    for (const reason of ['queue_full', 'wait_too_long']) {
      this.#shed.add(0, { ...this.#attributes, 'crs.bulkhead.reason': reason });
    }
    const description = 'Work by state: running or waiting.';
    this.#closeMetrics = observeGauge('kit', 'crs.bulkhead.work', { description }, (result) => {
      result.observe(this.#held, { ...this.#attributes, 'crs.bulkhead.state': 'under_way' });
      result.observe(this.#waiting, { ...this.#attributes, 'crs.bulkhead.state': 'waiting' });
    });
  }

  /**
   * Acquires a slot for a key. Returns a free slot synchronously.
   * @throws ServiceError overloaded; after an abort, the signal's reason if it is a ServiceError, else deadline_exceeded
   */
  acquire(key: string, work: Work): Release | Promise<Release> {
    if (work.signal?.aborted) throw reasonOf(work.signal);
    let flow = this.#flows.get(key);
    if (!flow) this.#flows.set(key, (flow = { key, held: 0, waiting: new Set() }));
    const isFree = this.#held < this.#options.total && flow.held < this.#options.perKey;
    if (isFree && flow.waiting.size === 0) return this.#take(flow);
    const slot = this.#wait(flow, work);
    this.#next();
    return slot;
  }

  close(): void {
    this.#closeMetrics();
  }

  #take(flow: Flow): Release {
    const { countedMs } = this.#options;
    this.#held++;
    flow.held++;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      clearTimeout(timer);
      this.#held--;
      flow.held--;
      this.#settle(flow);
      this.#next();
    };
    const timer = countedMs === undefined ? undefined : setTimeout(release, countedMs).unref();
    return release;
  }

  #next(): void {
    for (const flow of this.#turns) {
      if (this.#held >= this.#options.total) return;
      const [first] = flow.waiting;
      flow.waiting.delete(first!);
      this.#waiting--;
      this.#waited.record((performance.now() - first!.since) / 1000, this.#attributes);
      first!.resolve(this.#take(flow));
      // The flow moves to the end of the set, where this iteration meets it again.
      this.#turns.delete(flow);
      this.#settle(flow);
    }
  }

  /** Updates whether a flow takes turns, and whether it exists. */
  #settle(flow: Flow): void {
    if (flow.waiting.size > 0 && flow.held < this.#options.perKey) this.#turns.add(flow);
    else this.#turns.delete(flow);
    if (flow.held === 0 && flow.waiting.size === 0) this.#flows.delete(flow.key);
  }

  #wait(flow: Flow, { deadline, signal }: Work): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const waiter: Waiter = { since: performance.now(), resolve, reject };
    const onAbort = () => this.#remove(flow, waiter, reasonOf(signal!));
    const waitMs = Math.max(0, (deadline - Date.now()) * WAIT_SHARE);
    const timer = setTimeout(() => this.#remove(flow, waiter, this.#refusal('wait_too_long')), waitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    flow.waiting.add(waiter);
    this.#waiting++;
    this.#settle(flow);
    if (flow.waiting.size > this.#options.waitingPerKey) this.#remove(flow, waiter, this.#refusal('queue_full'));
    else if (this.#waiting > this.#options.waitingTotal) this.#dropLast(flow);
    return promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    });
  }

  /** Refuses the last waiter of the longest flow. @param longest the newcomer's flow, which is chosen among equals */
  #dropLast(longest: Flow): void {
    for (const flow of this.#flows.values()) if (flow.waiting.size > longest.waiting.size) longest = flow;
    this.#remove(longest, [...longest.waiting].at(-1)!, this.#refusal('queue_full'));
  }

  /** Rejects a waiter, unless it has just got its slot. */
  #remove(flow: Flow, waiter: Waiter, error: unknown): void {
    if (!flow.waiting.delete(waiter)) return;
    this.#waiting--;
    this.#settle(flow);
    waiter.reject(error);
  }

  #refusal(reason: 'queue_full' | 'wait_too_long'): ServiceError {
    this.#shed.add(1, { ...this.#attributes, 'crs.bulkhead.reason': reason });
    return overloaded();
  }
}

function reasonOf({ reason }: AbortSignal): unknown {
  return reason instanceof ServiceError ? reason : deadlineExceeded();
}
