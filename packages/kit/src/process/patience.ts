/** What took longer than it may. */
export class Late extends Error {
  override readonly name = 'Late';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

const TICKS = 4;

/**
 * Deadlines of one length, told from a busy machine: an answer that has arrived is read before its time is found to be over, and time
 * in which this process had no turn doesn't count, as who has to answer may not have had one either.
 */
export class Patience {
  readonly #ms: number;
  /** By age: each tick shifts them on, and whoever has seen all ticks is late. */
  readonly #waiting: Set<() => void>[] = Array.from({ length: TICKS + 1 }, () => new Set());
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** What `work` resolves to. @throws Late if it takes longer, which is found out within a quarter more */
  async within<T>(work: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const reject = () => late.reject(new Late(this.#ms));
    this.#waiting[0]!.add(reject);
    this.#count++;
    this.#timer ??= setInterval(() => this.#tick(), this.#ms / TICKS);
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      for (const waiting of this.#waiting) if (waiting.delete(reject)) break;
      if (--this.#count === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #tick(): void {
    const late = this.#waiting.pop()!;
    this.#waiting.unshift(new Set());
    // A turn later, when what has arrived is read.
    if (late.size > 0) setImmediate(() => late.forEach((reject) => reject()));
  }
}

/** What `work` resolves to. @throws Late if it takes longer than `ms` */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Patience(ms).within(work);
}
