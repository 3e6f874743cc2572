import { context, ROOT_CONTEXT } from '@opentelemetry/api';
import type { Logger } from '../process/log.ts';

/** The client of a refused request, by its log fields. */
export interface RefusedClient {
  status: number;
  /** The client's address. */
  client_address: string;
  /** See `credentialPrefix`. Absent: the request carries no credential, or a known one. */
  credential?: string | undefined;
  organization?: string | undefined;
  key_id?: string | undefined;
  scim_token_id?: string | undefined;
  grant_id?: string | undefined;
}

const PERIOD_MS = 1_000;
/** Maximum number of aggregated lines per second. A line has about 200 bytes. */
const MAX_LINES = 1_000;

/**
 * Aggregates the log lines of refusals, so that a client that repeats a refused request can't flood the log. In each second, a client's first refusal is
 * logged as a normal `request` line, and its others share one line with their count. Beyond `MAX_LINES`, refusals share one line per status.
 */
export class RefusalCounts {
  readonly #log: Logger;
  readonly #counts = new Map<string, RefusedClient & { count: number }>();
  readonly #others = new Map<number, number>();
  /** Runs outside the trace of the request that schedules it. */
  readonly #flushLater = context.bind(ROOT_CONTEXT, () => this.flush());
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Counts a refusal. @returns whether it is the client's first one in this second, which the caller logs itself */
  count(client: RefusedClient): boolean {
    const { status, client_address, credential, organization, key_id, scim_token_id, grant_id } = client;
    this.#timer ??= setTimeout(this.#flushLater, PERIOD_MS).unref();
    const fields = { status, client_address, credential, organization, key_id, scim_token_id, grant_id };
    const kind = Object.values(fields).join(' ');
    const counted = this.#counts.get(kind);
    if (counted) counted.count++;
    else if (this.#counts.size < MAX_LINES) {
      this.#counts.set(kind, { ...fields, count: 0 });
      return true;
    } else this.#others.set(status, (this.#others.get(status) ?? 0) + 1);
    return false;
  }

  /** Logs the counts so far. A gateway calls it when it stops. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const counted of this.#counts.values()) if (counted.count > 0) this.#log.info(counted, 'refused again');
    for (const [status, count] of this.#others) this.#log.info({ status, count }, 'refused again');
    this.#counts.clear();
    this.#others.clear();
  }
}
