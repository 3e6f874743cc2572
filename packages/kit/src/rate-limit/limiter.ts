import {
  RateLimitResponse_Code,
  RateLimitServiceService,
  type RateLimitResponse_DescriptorStatus,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { client, type ServiceClient } from '../grpc-client.ts';
import type { Logger } from '../log.ts';
import { meter } from '../telemetry.ts';
import type { Tls } from '../tls.ts';
import { decide, formatRule, type Rule, type Verdict } from './rule.ts';
import { MemoryStore } from './store.ts';

/** Whose requests are counted together. */
export type LimitedKind = 'organization' | 'user' | 'address';

/** One request to be charged. */
export interface Check {
  kind: LimitedKind;
  /** Unique within the kind. */
  id: string;
  rule: Rule;
}

/** The verdict, and who gave it: the rate-limit service, or this process alone while the service is away. */
export interface Decision extends Verdict {
  source: 'service' | 'fallback';
}

export interface RateLimiterOptions {
  /** `host:port` of the rate-limit service. */
  address: string;
  /** How many gateways share each limit; while the service is away, this one grants its part. */
  replicas: number;
  /** How long a request waits for the service. */
  timeoutMs?: number;
  log: Logger;
  tls?: Tls | undefined;
}

interface Waiting {
  check: Check;
  resolve: (decision: Decision) => void;
}

const DOMAIN = 'call-research';
const MAX_DESCRIPTORS = 100;
const WARN_EVERY_MS = 10_000;

/**
 * Asks the rate-limit service. Checks that wait in the same turn of the event loop travel in one call, which belongs to the trace of
 * the first; each gets an answer of its own. A call isn't repeated, since its hits may have been counted.
 *
 * A check never fails: without a usable answer it is counted here, against `max(1, floor(limit / replicas))`. The decision then
 * states this smaller limit, since a client that saw the whole one would be refused with much of it apparently left.
 */
export class RateLimiter {
  readonly #service: ServiceClient<RateLimitServiceService>;
  readonly #replicas: number;
  readonly #log: Logger;
  readonly #fallback = new MemoryStore();
  readonly #decisions = meter('kit').createCounter('crs.ratelimit.decisions', { description: 'Requests that were charged.' });
  #waiting: Waiting[] = [];
  #warnAt = -Infinity;

  constructor({ address, replicas, timeoutMs = 250, log, tls }: RateLimiterOptions) {
    this.#service = client(RateLimitServiceService, { name: 'rate-limit', address, timeoutMs, retry: false, tls });
    this.#replicas = replicas;
    this.#log = log;
  }

  /** Charges one request. Never throws. */
  check(check: Check): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#waiting.push({ check, resolve });
    if (this.#waiting.length === 1) setImmediate(() => this.#flush());
    return promise;
  }

  close(): void {
    this.#service.close();
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < waiting.length; start += MAX_DESCRIPTORS) {
      void this.#settle(waiting.slice(start, start + MAX_DESCRIPTORS));
    }
  }

  async #settle(batch: Waiting[]): Promise<void> {
    const verdicts = await this.#ask(batch.map(({ check }) => check));
    for (const [index, { check, resolve }] of batch.entries()) {
      const verdict = verdicts?.[index];
      const decision: Decision = verdict
        ? { ...verdict, source: 'service' }
        : { ...(await this.#countHere(check)), source: 'fallback' };
      const { allowed, source } = decision;
      this.#decisions.add(1, { kind: check.kind, outcome: allowed ? 'allowed' : 'refused', source });
      resolve(decision);
    }
  }

  /** The service's verdicts in order; undefined where it has none to give. */
  async #ask(checks: Check[]): Promise<(Verdict | undefined)[] | undefined> {
    const descriptors = checks.map(({ kind, id, rule }) => ({
      entries: [
        { key: 'kind', value: kind },
        { key: 'id', value: id },
        { key: 'rule', value: formatRule(rule) },
      ],
      limit: undefined,
    }));
    try {
      const { statuses } = await this.#service.shouldRateLimit({ domain: DOMAIN, descriptors, hitsAddend: 1 });
      return statuses.map(readStatus);
    } catch (error) {
      this.#warn(error);
      return undefined;
    }
  }

  /** Now and then, as every request meets the same failure. */
  #warn(error: unknown): void {
    const now = performance.now();
    if (now < this.#warnAt) return;
    this.#warnAt = now + WARN_EVERY_MS;
    this.#log.warn({ err: error }, 'the rate-limit service gave no answer, counting in this process');
  }

  async #countHere({ kind, id, rule }: Check): Promise<Verdict> {
    const share = { ...rule, requests: Math.max(1, Math.floor(rule.requests / this.#replicas)) };
    const hit = { key: `${kind}:${id}:${formatRule(rule)}`, amount: 1, windowMs: rule.periodSeconds * 1000 };
    return decide(share, await this.#fallback.add(hit));
  }
}

/** A status that names no limit is no verdict: a service that doesn't know our descriptors would admit everything. */
function readStatus(status: RateLimitResponse_DescriptorStatus): Verdict | undefined {
  const { code, currentLimit, limitRemaining, durationUntilReset } = status;
  if (!currentLimit || !durationUntilReset) return undefined;
  return {
    allowed: code !== RateLimitResponse_Code.OVER_LIMIT,
    limit: currentLimit.requestsPerUnit,
    remaining: limitRemaining,
    resetInMs: durationUntilReset.seconds * 1000 + Math.ceil(durationUntilReset.nanos / 1e6),
  };
}
