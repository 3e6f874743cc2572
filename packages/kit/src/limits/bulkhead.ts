import { deadlineExceeded, overloaded, ServiceError } from '../errors.ts';
import { meter, observeGauge } from '../process/telemetry.ts';

export interface BulkheadOptions {
  /** Label of the metrics. */
  name: string;
  /** Slots of one key. */
  perKey: number;
  /** Slots of one key that are given at once while other keys ask, too; its further ones are given slowly, and work is followed by a rest. Absent: all. */
  atOnce?: number;
  /** Slots of the keys of one group together. Keys without a group have no such limit. */
  perGroup?: number;
  /** Slots of all keys together. */
  total: number;
  /** Waiters of one key. */
  waitingPerKey: number;
  /** Waiters of all keys together. */
  waitingTotal: number;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** How long work is wanted: a request's state, or a `Scope` of the database. */
export interface Wanted {
  /** Epoch milliseconds. */
  deadline: number;
  /** Aborted when nobody waits for the work any more. */
  signal?: AbortSignal;
}

/** Gives a slot back. A second call changes nothing. */
export type Release = () => void;

interface Waiter {
  since: number;
  /** When it gives up. */
  until: number;
  admit: (release: Release) => void;
  refuse: (error: unknown) => void;
}

interface Group {
  held: number;
}

interface Line {
  key: string;
  group: Group | undefined;
  held: number;
  /** When it got its last slot. */
  servedAt: number;
  /** When it has rested from its last work. */
  restedAt: number;
  /** In order of arrival. */
  waiting: Set<Waiter>;
}

/** Work waits for at most this part of its time, which leaves a fifth for the work itself. */
const WAIT_PART = 0.8;

/** How long a key that has asked counts as another one (milliseconds). */
const BESIDE_MS = 10_000;
/** Beside others, a key rests after its work for so many times as long as the work took: meanwhile the processes behind are the others'. */
const REST = 1;
/** The time between two slots that are given slowly (milliseconds). It is short, so that slow work and clients that read slowly hold nobody up. */
const PACE_MS = 25;
/** The time is shorter where many wait: all get slots within this part of the time that the first of them may still wait. */
const PACE_PART = 0.75;

/**
 * Bounds concurrent work, so that one tenant's work can't crowd out another's: each key has a number of slots, and so have all keys
 * together, and those of a group where keys have one. With `atOnce`, a key beside others gets its slots slowly, and rests between, because many at
 * once would fill the queues of the processes behind. Further work waits in its key's line, first come, first served, and free slots go to the lines
 * in turn. The number of waiters is bounded too. When all lines together are full, a newcomer to a shorter line displaces the last waiter
 * of the longest line. Work waits for at most four fifths of the time until its deadline. Work that gets no slot is refused as
 * {@link overloaded}.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  readonly #now: () => number;
  /** Keys with work under way or waiting. */
  readonly #lines = new Map<string, Line>();
  readonly #groups = new Map<string, Group>();
  /** Lines that may get the next free slot, in turn: work waits in them, and their keys have slots left. Their groups may have none. */
  readonly #turns = new Set<Line>();
  #held = 0;
  #waiting = 0;
  /** The key that asked last, and when any other key asked last. */
  #latest = { key: '', at: -Infinity, otherAt: -Infinity };
  #paced: NodeJS.Timeout | undefined;
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
    this.#now = options.now ?? (() => Date.now());
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
   * @param group of the key; while the key has work, another one changes nothing
   * @throws ServiceError overloaded; after an abort, the signal's reason if it is a ServiceError, else deadline_exceeded
   */
  acquire(key: string, wanted: Wanted, group?: string): Release | Promise<Release> {
    if (wanted.signal?.aborted) throw reasonOf(wanted.signal);
    this.#notice(key);
    let line = this.#lines.get(key);
    if (!line) {
      line = { key, group: this.#groupOf(group), held: 0, servedAt: -Infinity, restedAt: -Infinity, waiting: new Set() };
      this.#lines.set(key, line);
    }
    const isFree = this.#held < this.#options.total && line.held < this.#options.perKey && this.#hasRoom(line);
    if (isFree && line.waiting.size === 0 && this.#dueIn(line) <= 0) return this.#take(line);
    const slot = this.#wait(line, wanted);
    this.#next();
    return slot;
  }

  /** Removes its gauge. */
  close(): void {
    clearTimeout(this.#paced);
    this.#closeMetrics();
  }

  #notice(key: string): void {
    const { key: former, at, otherAt } = this.#latest;
    this.#latest = { key, at: this.#now(), otherAt: former === key ? otherAt : at };
  }

  /** How many milliseconds a line that has slots left waits for the next one; 0 or less: none. */
  #dueIn({ key, held, servedAt, restedAt, waiting }: Line): number {
    const { atOnce } = this.#options;
    if (atOnce === undefined) return 0;
    const now = this.#now();
    const otherAt = this.#latest.key === key ? this.#latest.otherAt : this.#latest.at;
    if (now - otherAt > BESIDE_MS) return 0;
    const [first] = waiting;
    const pace = first ? Math.min(PACE_MS, ((first.until - now) * PACE_PART) / waiting.size) : PACE_MS;
    const paced = servedAt + pace;
    return (held < atOnce ? Math.min(restedAt, paced) : paced) - now;
  }

  #groupOf(name: string | undefined): Group | undefined {
    if (name === undefined) return undefined;
    let group = this.#groups.get(name);
    if (!group) this.#groups.set(name, (group = { held: 0 }));
    return group;
  }

  /** Whether the line's group has a slot left. */
  #hasRoom({ group }: Line): boolean {
    return group === undefined || group.held < (this.#options.perGroup ?? Infinity);
  }

  #take(line: Line): Release {
    this.#held++;
    line.held++;
    const begun = (line.servedAt = this.#now());
    if (line.group) line.group.held++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#held--;
      line.held--;
      const done = this.#now();
      line.restedAt = done + REST * (done - begun);
      if (line.group) line.group.held--;
      this.#settle(line);
      this.#next();
    };
  }

  /** Gives free slots to the lines in turn, and comes again when the next one is due. */
  #next(): void {
    clearTimeout(this.#paced);
    let soonest = Infinity;
    for (const line of this.#turns) {
      if (this.#held >= this.#options.total) return;
      if (!this.#hasRoom(line)) continue;
      const dueIn = this.#dueIn(line);
      if (dueIn > 0) {
        soonest = Math.min(soonest, dueIn);
        continue;
      }
      const [first] = line.waiting;
      this.#leave(line, first!);
      this.#waited.record((performance.now() - first!.since) / 1000, this.#attributes);
      first!.admit(this.#take(line));
      // The line moves to the end of the set, where this iteration meets it again.
      this.#turns.delete(line);
      this.#settle(line);
    }
    if (soonest < Infinity) this.#paced = setTimeout(() => this.#next(), soonest);
  }

  /** Updates whether a line takes turns, and whether it exists. */
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
    const waitMs = Math.max(0, (deadline - this.#now()) * WAIT_PART);
    const waiter: Waiter = {
      since: performance.now(),
      until: this.#now() + waitMs,
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
    const timer = setTimeout(() => giveUp(this.#refusal('wait_too_long')), waitMs);
    signal?.addEventListener('abort', abandon, { once: true });
    line.waiting.add(waiter);
    this.#waiting++;
    this.#settle(line);
    if (line.waiting.size > this.#options.waitingPerKey) giveUp(this.#refusal('queue_full'));
    else if (this.#waiting > this.#options.waitingTotal) this.#dropLast(line);
    return promise;
  }

  /** Refuses the last waiter of the longest line. @param longest the newcomer's line, which counts as the longest of equals */
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
