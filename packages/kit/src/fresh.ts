import { LRUCache } from 'lru-cache';

export interface FreshOptions<A> {
  /** How long an answer is used (milliseconds), counted from its question. */
  maxAgeMs: number | ((answer: A) => number);
  /** From this age on, an answer is used and asked for again in the background. Absent: never. */
  renewMs?: number;
  /** While questions fail, an older answer is used up to this age. Absent: never. */
  staleMs?: number;
  /** The number of answers that are kept; those used least recently are dropped. */
  max?: number;
}

interface Answered<A> {
  /** When the question was asked, by `performance.now()`. */
  askedAt: number;
  answer: A;
}

interface Question<A> {
  askedAt: number;
  answer: Promise<A>;
  state: 'under way' | 'answered' | 'failed';
}

interface Entry<A> {
  latest?: Answered<A>;
  /** The latest question. */
  question?: Question<A>;
}

/**
 * Answers that may change, such as whether a key is revoked. Each is asked for again once it is too old, and its age counts from the question, because a
 * change is seen only by questions that follow it. Callers share a question that is under way. It isn't cancelled with the caller who asked first.
 */
export class Fresh<A> {
  readonly #options: FreshOptions<A>;
  readonly #entries: LRUCache<string, Entry<A>>;

  constructor(options: FreshOptions<A>) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.max ?? 1_000 });
  }

  /**
   * @param ask asks for the answer; its errors aren't kept
   * @param maxAgeMs in place of the option; 0: the answer to a question that begins now or later
   * @throws what `ask` throws, where there is no answer that may be used
   */
  async get(key: string, ask: () => Promise<A>, maxAgeMs?: number): Promise<A> {
    const arrivedAt = performance.now();
    let entry = this.#entries.get(key);
    if (!entry) this.#entries.set(key, (entry = {}));
    for (;;) {
      const { latest } = entry;
      if (latest && this.#isUsable(latest, arrivedAt, maxAgeMs)) {
        if (this.#isOlder(entry.question!, this.#options.renewMs)) this.#ask(entry, ask).answer.catch(() => {});
        return latest.answer;
      }
      const stale = latest && !this.#isOlder(latest, this.#options.staleMs ?? -1) ? latest : undefined;
      // While questions fail, they are asked as seldom as answers are renewed.
      if (stale && entry.question!.state === 'failed' && !this.#isOlder(entry.question!, this.#options.renewMs ?? 0))
        return stale.answer;
      const question = this.#pending(entry, arrivedAt, maxAgeMs) ?? this.#ask(entry, ask);
      try {
        await question.answer;
      } catch (error) {
        if (stale) return stale.answer;
        // Another caller's question may have failed for a reason of that caller's.
        if (question.askedAt >= arrivedAt) throw error;
      }
    }
  }

  /** The latest answer of any age, without asking. */
  peek(key: string): A | undefined {
    return this.#entries.peek(key)?.latest?.answer;
  }

  #isUsable(latest: Answered<A>, arrivedAt: number, maxAgeMs?: number): boolean {
    const { maxAgeMs: usual } = this.#options;
    const allowed = maxAgeMs ?? (typeof usual === 'number' ? usual : usual(latest.answer));
    return latest.askedAt >= arrivedAt || !this.#isOlder(latest, allowed);
  }

  /** A question under way whose answer may be usable for a caller who arrived at that time. */
  #pending({ question }: Entry<A>, arrivedAt: number, maxAgeMs?: number): Question<A> | undefined {
    if (question?.state !== 'under way') return undefined;
    const { maxAgeMs: usual } = this.#options;
    const allowed = maxAgeMs ?? (typeof usual === 'number' ? usual : Infinity);
    return question.askedAt >= arrivedAt || !this.#isOlder(question, allowed) ? question : undefined;
  }

  #isOlder({ askedAt }: { askedAt: number }, ms = Infinity): boolean {
    return performance.now() - askedAt > ms;
  }

  #ask(entry: Entry<A>, ask: () => Promise<A>): Question<A> {
    const question: Question<A> = { askedAt: performance.now(), answer: ask(), state: 'under way' };
    entry.question = question;
    question.answer.then(
      (answer) => {
        question.state = 'answered';
        // A later question may have been answered first.
        if (!entry.latest || entry.latest.askedAt <= question.askedAt) entry.latest = { askedAt: question.askedAt, answer };
      },
      () => (question.state = 'failed'),
    );
    return question;
  }
}
