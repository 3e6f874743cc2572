import { LRUCache } from 'lru-cache';
import type { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import {
  RateLimitResponse_Code,
  RateLimitServiceService,
  type RateLimitResponse_DescriptorStatus,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { ServiceError } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { meter } from '../process/telemetry.ts';
import type { Tls } from '../process/tls.ts';
import { client, type ServiceClient } from '../rpc/client.ts';
import { FixedWindows } from './fixed-windows.ts';
import { formatRule, type Decision, type Rule, type Verdict } from './rule.ts';

/** Requests of one organization, one user or one address share a counter. */
export type LimitedKind = 'organization' | 'user' | 'address';

/** Charges a counter. */
export interface Check {
  kind: LimitedKind;
  /** Unique within the kind. */
  id: string;
  rule: Rule;
  /** How much to charge: all of it, or nothing if that exceeds the limit. Absent: 1. */
  hits?: number;
  /** Further counters to charge, from the narrowest to the widest. Any of them may refuse the request. */
  wider?: readonly Check[];
}

export interface RateLimiterOptions {
  /** `host:port` of the rate-limit service. */
  address: string;
  /** Deadline of a call to the service. */
  timeoutMs?: number;
  log: Logger;
  tls?: Tls | undefined;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}

/** A check that is sent at the end of this turn of the event loop. */
interface PendingCheck {
  check: Check;
  resolve: (decision: Decision) => void;
}

/** A cached refusal. The service would refuse every request until `refusedUntil`. */
interface CachedRefusal {
  limit: number;
  endsAt: number;
  refusedUntil: number;
}

const DOMAIN = 'call-research';
const MAX_DESCRIPTORS = 100;
const MAX_COUNTERS = 100_000;
const WARN_EVERY_MS = 10_000;

/**
 * Client of the rate-limit service. Checks made in one turn of the event loop share a call, which belongs to the trace of the first check. A
 * failed call isn't retried, because the service may have counted its hits. A refusal is cached until its window closes, so that a client
 * over its limit causes no further calls.
 *
 * A check never throws. If the service fails, this process counts the rule locally, so each gateway admits up to the full limit. The service
 * takes over again with its first response for the counter.
 */
export class RateLimiter {
  readonly #service: ServiceClient<RateLimitServiceService>;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #refusals = new LRUCache<string, CachedRefusal>({ max: MAX_COUNTERS });
  /** Counts while the service doesn't respond. */
  readonly #localWindows: FixedWindows;
  readonly #decisions = meter('kit').createCounter('crs.ratelimit.decisions', {
    description: 'Decided charges. A request over IPv6 without a valid credential has three.',
  });
  readonly #failures = meter('kit').createCounter('crs.ratelimit.failures', {
    description: 'Charges that got no response from the rate-limit service.',
  });
  #pending: PendingCheck[] = [];
  #warnAt = -Infinity;

  constructor({ address, timeoutMs = 500, log, tls, now = () => performance.now() }: RateLimiterOptions) {
    this.#service = client(RateLimitServiceService, { name: 'rate-limit', address, timeoutMs, retry: false, tls });
    this.#log = log;
    // Whole milliseconds, because sums of fractions could be rounded up to one more.
    this.#now = () => Math.floor(now());
    this.#localWindows = new FixedWindows(now, MAX_COUNTERS);
  }

  /**
   * Charges a request to all its counters, by one call. A request that a cached refusal covers isn't charged at all: otherwise a single
   * address over its limit would use up the limits of the networks that contain it.
   */
  async check(check: Check): Promise<Decision> {
    const refusal = this.#refusalOf(check);
    if (refusal) return this.#count(check, refusal);
    return decisive(await Promise.all(countersOf(check).map((each) => this.#charge(each))));
  }

  /** Whether a cached refusal covers the check. */
  isUsedUp(check: Check): boolean {
    return this.#refusalOf(check) !== undefined;
  }

  close(): void {
    this.#service.close();
  }

  #refusalOf(check: Check): Decision | undefined {
    const now = this.#now();
    for (const counter of countersOf(check)) {
      const refusal = this.#refusals.get(keyOf(counter));
      if (!refusal || refusal.refusedUntil <= now) continue;
      return { allowed: false, limit: refusal.limit, remaining: 0, resetInMs: refusal.endsAt - now, source: 'remembered' };
    }
    return undefined;
  }

  #charge(check: Check): Promise<Decision> {
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#pending.push({ check, resolve });
    if (this.#pending.length === 1) setImmediate(() => this.#flush());
    return promise;
  }

  #flush(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (let start = 0; start < pending.length; start += MAX_DESCRIPTORS) {
      void this.#chargeBatch(pending.slice(start, start + MAX_DESCRIPTORS));
    }
  }

  async #chargeBatch(batch: PendingCheck[]): Promise<void> {
    const chargedAt = this.#now();
    const verdicts = await this.#call(batch.map(({ check }) => describe(check)));
    for (const [index, { check, resolve }] of batch.entries()) {
      const verdict = verdicts?.[index];
      resolve(this.#count(check, verdict ? this.#accept(check, verdict, chargedAt) : this.#countLocally(check)));
    }
  }

  /** Returns the service's verdicts in the order of the descriptors; undefined if the call failed, or for a descriptor without a verdict. */
  async #call(descriptors: RateLimitDescriptor[]): Promise<(Verdict | undefined)[] | undefined> {
    try {
      const { statuses } = await this.#service.shouldRateLimit({ domain: DOMAIN, descriptors, hitsAddend: 1 });
      const verdicts = statuses.map(readStatus);
      const missing = verdicts.filter((verdict) => verdict === undefined).length;
      if (missing > 0) this.#failures.add(missing, { 'error.type': 'no_limit' });
      return verdicts;
    } catch (error) {
      this.#failures.add(descriptors.length, { 'error.type': error instanceof ServiceError ? error.kind : 'internal' });
      this.#warn(error);
      return undefined;
    }
  }

  #accept(check: Check, verdict: Verdict, chargedAt: number): Decision {
    const key = keyOf(check);
    this.#localWindows.delete(key);
    // With some of the limit left, a smaller charge may be admitted.
    if (!verdict.allowed && verdict.remaining === 0) {
      const { limit, resetInMs } = verdict;
      // The window closes between these two times. Repeating the refusal until the earlier one never refuses too long; the client is told
      // the later one, so that it doesn't retry too early.
      this.#refusals.set(key, { limit, endsAt: this.#now() + resetInMs, refusedUntil: chargedAt + resetInMs });
    }
    return { ...verdict, source: 'service' };
  }

  #countLocally(check: Check): Decision {
    const { requests: limit, periodSeconds } = check.rule;
    const { hits = 1 } = check;
    const { count, allowed, resetInMs } = this.#localWindows.add(keyOf(check), hits, periodSeconds * 1_000, limit);
    return { allowed, limit, remaining: Math.max(0, limit - count), resetInMs, source: 'fallback' };
  }

  #count({ kind }: Check, decision: Decision): Decision {
    this.#decisions.add(1, { kind, outcome: decision.allowed ? 'allowed' : 'refused', source: decision.source });
    return decision;
  }

  #warn(error: unknown): void {
    const now = this.#now();
    if (now < this.#warnAt) return;
    this.#warnAt = now + WARN_EVERY_MS;
    this.#log.warn({ err: error }, 'the rate-limit service gave no answer, counting in this process');
  }
}

function countersOf(check: Check): readonly Check[] {
  return check.wider ? [check, ...check.wider] : [check];
}

/** The decision of the narrowest counter that refuses or, if none does, of the narrowest one. */
function decisive(decisions: Decision[]): Decision {
  return decisions.find(({ allowed }) => !allowed) ?? decisions[0]!;
}

function keyOf({ kind, id, rule }: Check): string {
  return `${kind}:${id}:${formatRule(rule)}`;
}

function describe({ kind, id, rule, hits }: Check): RateLimitDescriptor {
  const entries = [
    { key: 'kind', value: kind },
    { key: 'id', value: id },
    { key: 'rule', value: formatRule(rule) },
  ];
  return { entries, limit: undefined, hitsAddend: hits };
}

/** Returns undefined for a status without a limit: the service doesn't know our descriptors, and would admit everything. */
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
