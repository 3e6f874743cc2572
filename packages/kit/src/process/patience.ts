/** No answer came in time. */
export class Late extends Error {
  override readonly name = 'Late';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

const TICKS = 4;

/**
 * Limits how long answers may take. All limits of a `Patience` are equally long. A busy machine doesn't make answers late: an answer that
 * has arrived in time is read first, and time in which this process didn't run doesn't count, since its peer may not have run either.
 */
export class Patience {
  readonly #ms: number;
  /** By age: each tick moves a waiter one set further. After the last set it is late. */
  readonly #waiting: Set<() => void>[] = Array.from({ length: TICKS + 1 }, () => new Set());
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Returns what `work` resolves to. @throws Late after the limit, and at most a quarter of it later */
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
    // In the next turn of the event loop, answers that have arrived are read.
    if (late.size > 0) setImmediate(() => late.forEach((reject) => reject()));
  }
}
