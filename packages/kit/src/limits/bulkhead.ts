import { deadlineExceeded, overloaded, ServiceError } from '../errors.ts';
import { meter } from '../process/telemetry.ts';

export interface BulkheadOptions {
  /** In metrics. */
  name: string;
  /** How many of one key are under way at once. */
  perKey: number;
  /** How many of all keys are. */
  total: number;
  /** How many of one key wait. */
  waitingPerKey: number;
  /** How many of all keys wait. */
  waitingTotal: number;
}

/** Until when work is wanted: a request's state, or a `Scope` of the database. */
export interface Wanted {
  /** Epoch milliseconds. */
  deadline: number;
  /** Aborted when nobody waits for it any more. */
  signal?: AbortSignal;
}

/** Gives a slot back; a second time changes nothing. */
export type Release = () => void;

interface Waiter {
  since: number;
  admit: (release: Release) => void;
  refuse: (error: unknown) => void;
}

interface Line {
  key: string;
  held: number;
  /** In order of arrival. */
  waiting: Set<Waiter>;
}

/** Who waits leaves at least the fifth part of the time to the work itself. */
const WAIT_PART = 0.8;

/**
 * Slots for work, so that one tenant's can't crowd out another's: so many per key, and so many in all. Over that, work waits in its
 * key's line, first come first served, and free slots go to the lines in turn. Waiting is bounded, too: in number per key and in all,
 * where the last of the longest line gives way to a newcomer of a shorter one, and in time, to four fifths of what is left until the
 * deadline. What gives up waiting is refused as {@link overloaded}.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  /** Keys with work under way or waiting. */
  readonly #lines = new Map<string, Line>();
  /** Those that may have the next free slot, in turn: somebody waits, and the key is below its share. */
  readonly #turns = new Set<Line>();
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

  constructor(options: BulkheadOptions) {
    this.#options = options;
    this.#attributes = { 'crs.bulkhead.name': options.name };
    // From zero on, or whoever looks at increases would not see the first.
    for (const reason of ['queue_full', 'wait_too_long']) {
      this.#shed.add(0, { ...this.#attributes, 'crs.bulkhead.reason': reason });
    }
    const gauge = meter('kit').createObservableGauge('crs.bulkhead.work', {
      description: 'Work by state: under way or waiting.',
    });
    const observe = (result: { observe(value: number, attributes: Record<string, string>): void }) => {
      result.observe(this.#held, { ...this.#attributes, 'crs.bulkhead.state': 'under_way' });
      result.observe(this.#waiting, { ...this.#attributes, 'crs.bulkhead.state': 'waiting' });
    };
    gauge.addCallback(observe);
    this.#closeMetrics = () => gauge.removeCallback(observe);
  }

  /**
   * A slot of that key: at once where one is free, without a promise or a timer.
   * @throws ServiceError overloaded; the signal's reason, or deadline_exceeded, where nobody waits any more
   */
  acquire(key: string, wanted: Wanted): Release | Promise<Release> {
    if (wanted.signal?.aborted) throw reasonOf(wanted.signal);
    let line = this.#lines.get(key);
    if (!line) this.#lines.set(key, (line = { key, held: 0, waiting: new Set() }));
    // Where both hold, nobody who may have it is waiting.
    if (this.#held < this.#options.total && line.held < this.#options.perKey) return this.#take(line);
    return this.#wait(line, wanted);
  }

  /** Takes back what it shows in metrics. */
  close(): void {
    this.#closeMetrics();
  }

  #take(line: Line): Release {
    this.#held++;
    line.held++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held--;
      line.held--;
      this.#settle(line);
      this.#next();
    };
  }

  /** Gives what is free to the lines in turn. */
  #next(): void {
    for (const line of this.#turns) {
      if (this.#held >= this.#options.total) return;
      const [first] = line.waiting;
      this.#leave(line, first!);
      this.#waited.record((performance.now() - first!.since) / 1000, this.#attributes);
      first!.admit(this.#take(line));
      // To the end of the turns; a set's iteration comes by again.
      this.#turns.delete(line);
      this.#settle(line);
    }
  }

  /** Whether it is a line's turn has changed, or whether there is a line at all. */
  #settle(line: Line): void {
    if (line.waiting.size > 0 && line.held < this.#options.perKey) this.#turns.add(line);
    else this.#turns.delete(line);
    if (line.held === 0 && line.waiting.size === 0) this.#lines.delete(line.key);
  }

  #wait(line: Line, { deadline, signal }: Wanted): Promise<Release> {
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const stop = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abandon);
    };
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
      this.#leave(line, waiter);
      this.#settle(line);
      waiter.refuse(error);
    };
    const abandon = () => giveUp(reasonOf(signal!));
    const timer = setTimeout(() => giveUp(this.#refusal('wait_too_long')), Math.max(0, (deadline - Date.now()) * WAIT_PART));
    signal?.addEventListener('abort', abandon, { once: true });
    line.waiting.add(waiter);
    this.#waiting++;
    this.#settle(line);
    if (line.waiting.size > this.#options.waitingPerKey) giveUp(this.#refusal('queue_full'));
    else if (this.#waiting > this.#options.waitingTotal) this.#dropLast(line);
    return promise;
  }

  /** The newest of the longest line, which is that of the newcomer where no other is longer. */
  #dropLast(longest: Line): void {
    for (const line of this.#lines.values()) if (line.waiting.size > longest.waiting.size) longest = line;
    const last = [...longest.waiting].at(-1)!;
    this.#leave(longest, last);
    this.#settle(longest);
    last.refuse(this.#refusal('queue_full'));
  }

  #leave(line: Line, waiter: Waiter): void {
    line.waiting.delete(waiter);
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
