import { deadlineExceeded, overloaded, ServiceError } from '../errors.ts';
import { meter, observeGauge } from '../process/telemetry.ts';

export interface FairQueueOptions {
  /** Label of the metrics. */
  name: string;
  /** How much work runs at once. */
  total: number;
  /** How much work of one key runs at once. */
  perKey: number;
  /**
   * Work that has run for so long (milliseconds) no longer counts as running: it waits for another process, and doesn't saturate this one. Absent: it
   * counts until it ends.
   */
  countedMs?: number;
  /** How much work of one key waits. */
  waitingPerKey: number;
  /** How much work of all keys waits. */
  waitingTotal: number;
}

/** Until when work is worth doing: a request's state, or a `Scope` of the database. */
export interface Wanted {
  /** Epoch milliseconds. */
  deadline: number;
  /** Aborted when nobody waits for the work any more. */
  signal?: AbortSignal;
}

/** Ends work. A second call changes nothing. */
export type Release = () => void;

interface Waiter {
  since: number;
  admit: (release: Release) => void;
  refuse: (error: unknown) => void;
}

/** The work of one key. */
interface Flow {
  key: string;
  held: number;
  /** In order of arrival. */
  waiting: Set<Waiter>;
}

/** Work waits for at most this part of its time, which leaves a fifth for the work itself. */
const WAIT_PART = 0.8;

/**
 * Bounds concurrent work, so that one tenant's work can't displace another's. A fixed amount of work runs at once, and at most a part of it is of one
 * key. Further work waits: first come, first served within a key, and the keys take turns. So work waits only while all
 * slots are taken, or all that its key may have.
 *
 * The amount of waiting work is bounded, too. If the whole queue is full, a newcomer to a shorter flow displaces the last waiter of the longest one. Work
 * waits for at most four fifths of the time until its deadline. Work that gets no slot is refused as {@link overloaded}.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Keys with running or waiting work. */
  readonly #flows = new Map<string, Flow>();
  /** Flows that may get the next free slot, in turn: work waits in them, and their keys have slots left. */
  readonly #turns = new Set<Flow>();
  #held = 0;
  #waiting = 0;
  readonly #attributes: Record<string, string>;
  readonly #shed = meter('kit').createCounter('crs.bulkhead.shed', {
    description: 'Work that was refused, as there was too much of it.',
  });
  readonly #waited = meter('kit').createHistogram('crs.bulkhead.wait.duration', {
    unit: 's',
    description: 'Time until work that had to wait got a slot.',
  });
  readonly #closeMetrics: () => void;

  constructor(options: FairQueueOptions) {
    this.#options = options;
    this.#attributes = { 'crs.bulkhead.name': options.name };
    // A counter that begins at zero shows its first increase.
    for (const reason of ['queue_full', 'wait_too_long']) {
      this.#shed.add(0, { ...this.#attributes, 'crs.bulkhead.reason': reason });
    }
    const description = 'Work by state: under way or waiting.';
    this.#closeMetrics = observeGauge('kit', 'crs.bulkhead.work', { description }, (result) => {
      result.observe(this.#held, { ...this.#attributes, 'crs.bulkhead.state': 'under_way' });
      result.observe(this.#waiting, { ...this.#attributes, 'crs.bulkhead.state': 'waiting' });
    });
  }

  /**
   * Takes a slot of a key. A free slot is returned at once, without a promise or a timer.
   * @throws ServiceError overloaded; after an abort, the signal's reason if it is a ServiceError, else deadline_exceeded
   */
  acquire(key: string, wanted: Wanted): Release | Promise<Release> {
    if (wanted.signal?.aborted) throw reasonOf(wanted.signal);
    let flow = this.#flows.get(key);
    if (!flow) this.#flows.set(key, (flow = { key, held: 0, waiting: new Set() }));
    const isFree = this.#held < this.#options.total && flow.held < this.#options.perKey;
    if (isFree && flow.waiting.size === 0) return this.#take(flow);
    const slot = this.#wait(flow, wanted);
    this.#next();
    return slot;
  }

  /** Removes its gauge. */
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

  /** Gives free slots to the flows in turn. */
  #next(): void {
    for (const flow of this.#turns) {
      if (this.#held >= this.#options.total) return;
      const [first] = flow.waiting;
      this.#leave(flow, first!);
      this.#waited.record((performance.now() - first!.since) / 1000, this.#attributes);
      first!.admit(this.#take(flow));
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

  #wait(flow: Flow, { deadline, signal }: Wanted): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abandon);
    };
    const waitMs = Math.max(0, (deadline - Date.now()) * WAIT_PART);
    const waiter: Waiter = {
      since: performance.now(),
      admit: (release) => {
        stop();
        resolve(release);
      },
      refuse: (error) => {
        stop();
        reject(error);
      },
    };
    const giveUp = (error: unknown) => {
      this.#leave(flow, waiter);
      this.#settle(flow);
      waiter.refuse(error);
    };
    const abandon = () => giveUp(reasonOf(signal!));
    const timer = setTimeout(() => giveUp(this.#refusal('wait_too_long')), waitMs);
    signal?.addEventListener('abort', abandon, { once: true });
    flow.waiting.add(waiter);
    this.#waiting++;
    this.#settle(flow);
    if (flow.waiting.size > this.#options.waitingPerKey) giveUp(this.#refusal('queue_full'));
    else if (this.#waiting > this.#options.waitingTotal) this.#dropLast(flow);
    return promise;
  }

  /** Refuses the last waiter of the longest flow. @param longest the newcomer's flow, which counts as the longest of equals */
  #dropLast(longest: Flow): void {
    for (const flow of this.#flows.values()) if (flow.waiting.size > longest.waiting.size) longest = flow;
    const last = [...longest.waiting].at(-1)!;
    this.#leave(longest, last);
    this.#settle(longest);
    last.refuse(this.#refusal('queue_full'));
  }

  #leave(flow: Flow, waiter: Waiter): void {
    flow.waiting.delete(waiter);
    this.#waiting--;
  }

  #refusal(reason: 'queue_full' | 'wait_too_long'): ServiceError {
    this.#shed.add(1, { ...this.#attributes, 'crs.bulkhead.reason': reason });
    return overloaded();
  }
}

function reasonOf({ reason }: AbortSignal): unknown {
  return reason instanceof ServiceError ? reason : deadlineExceeded();
}
