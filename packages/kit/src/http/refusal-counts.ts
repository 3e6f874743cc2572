import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import type { Logger } from '../process/log.ts';

/** A refusal that is given again and again, as the log names it. */
export interface Tally {
  status: number;
  /** The client's address, for limits. */
  client_address: string;
  /** See `credentialPrefix`. Absent: the request carries no credential, or a known one. */
  credential?: string | undefined;
  organization?: string | undefined;
  key_id?: string | undefined;
  grant_id?: string | undefined;
  /** How often it was given since {@link RefusalCounts} last added it up. */
  count: number;
}

const PERIOD_MS = 1_000;
/** How many different refusals have a line of their own in a second. A line has about 200 bytes. */
const MAX_LINES = 1_000;
/** How many tallies wait until they are added up. */
const MAX_TALLIES = 10_000;

/**
 * Counts refusals that are answered from memory, and logs one line a second for each kind, so that a client that repeats a refused request
 * can't fill the log. Refusals beyond the first thousand kinds of a second share one line for each status.
 */
export class RefusalCounts {
  readonly #log: Logger;
  #tallies: Tally[] = [];
  readonly #counts = new Map<string, Tally>();
  readonly #others = new Map<number, number>();
  /** Outside of the trace of the request that happens to come first. */
  readonly #flushLater = context.bind(ROOT_CONTEXT, () => this.flush());
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  count(tally: Tally): void {
    if (tally.count++ > 0) return;
    this.#tallies.push(tally);
    if (this.#tallies.length === MAX_TALLIES) this.#addUp();
    this.#timer ??= setTimeout(this.#flushLater, PERIOD_MS).unref();
  }

  /** Logs the counts so far. A gateway calls it when it stops. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#addUp();
    for (const counted of this.#counts.values()) this.#log.info(counted, 'refused again');
    for (const [status, count] of this.#others) this.#log.info({ status, count }, 'refused again');
    this.#counts.clear();
    this.#others.clear();
  }

  /** Adds up equal tallies: the same sender may have several. */
  #addUp(): void {
    for (const tally of this.#tallies) {
      const { status, client_address, credential = '', organization = '', key_id = '', grant_id = '', count } = tally;
      const kind = `${status} ${client_address} ${credential} ${organization} ${key_id}${grant_id}`;
      const counted = this.#counts.get(kind);
      if (counted) counted.count += count;
      else if (this.#counts.size < MAX_LINES) this.#counts.set(kind, { ...tally });
      else this.#others.set(status, (this.#others.get(status) ?? 0) + count);
      tally.count = 0;
    }
    this.#tallies = [];
  }
}
