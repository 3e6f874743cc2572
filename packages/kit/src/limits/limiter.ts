import { LRUCache } from 'lru-cache';
import type { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import {
  RateLimitResponse_Code,
  RateLimitServiceService,
  type RateLimitResponse_DescriptorStatus,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import { ServiceError } from '../errors.ts';
import type { Logger } from '../process/log.ts';
import { Late, Patience } from '../process/patience.ts';
import { meter } from '../process/telemetry.ts';
import type { Tls } from '../process/tls.ts';
import { client, type ServiceClient } from '../rpc/client.ts';
import { formatRule, type Decision, type Rule, type Verdict } from './rule.ts';
import { next, repeatRefusal, type Report, type Step, type Window, type WindowEvent } from './windows.ts';

/** Requests of one organization, one user or one address share a counter. */
export type LimitedKind = 'organization' | 'user' | 'address';

/** Charges one request to a counter. */
export interface Check {
  kind: LimitedKind;
  /** Unique within the kind. */
  id: string;
  rule: Rule;
  /** Counters that the request is charged to as well, from the narrowest to the widest. Any of them may refuse it. */
  wider?: readonly Check[];
  /** The limiter's name of the counter; the limiter makes it when it first sees the check. */
  key?: string;
}

export interface RateLimiterOptions {
  /** `host:port` of the rate-limit service. */
  address: string;
  /** The number of gateways that share each limit. */
  replicas: number;
  /** How long a request waits for the service. */
  timeoutMs?: number;
  log: Logger;
  tls?: Tls | undefined;
  /** Milliseconds of a clock that doesn't jump. */
  now?: () => number;
}

/** Requests that are charged to one counter by one descriptor. */
interface Waiting {
  check: Check;
  key: string;
  /** Each takes the decision of one request. */
  resolve: ((decision: Decision) => void)[];
}

const DOMAIN = 'call-research';
const MAX_DESCRIPTORS = 100;
const MAX_WINDOWS = 100_000;
const WARN_EVERY_MS = 10_000;
/** Longer waits cost more than they save: the process goes idle between a crowd's requests and their answers. */
const LEISURE_MS = 2;
/** How many times the requests of a descriptor must fit into what remains: other gateways and other calls charge the same counter. */
const ROOM = 4;
const COUNT_EVERY_MS = 1_000;

/**
 * Asks the rate-limit service. Checks that wait in the same turn of the event loop share one call, which belongs to the trace of the
 * first check; each check gets its own answer. A failed call isn't repeated, since the service may have counted its hits. A refusal is
 * remembered until its window is surely over, so that a client that keeps asking loads this process alone.
 *
 * A check never fails. Without a usable answer, this process admits requests from its share: `max(1, floor(limit / replicas))` of a
 * window, or less if less is known to remain. The decision then states the share as the limit, because a client that saw the whole
 * limit would be refused while most of it seemed to remain. The next charge that the service answers reports the admitted requests.
 */
export class RateLimiter {
  readonly #service: ServiceClient<RateLimitServiceService>;
  readonly #replicas: number;
  readonly #patience: Patience;
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #windows = new LRUCache<string, Window>({ max: MAX_WINDOWS });
  readonly #decisions = meter('kit').createCounter('crs.ratelimit.decisions', {
    description: 'Charges that were decided. A request over IPv6 without a usable credential has three.',
  });
  readonly #failures = meter('kit').createCounter('crs.ratelimit.failures', {
    description: 'Charges that the rate-limit service gave no answer to.',
  });
  #waiting: Waiting[] = [];
  #leisurely = new Map<string, Waiting>();
  /** Refusals from memory that aren't in the metric yet, by kind. */
  readonly #recalled = new Map<LimitedKind, number>();
  #warnAt = -Infinity;

  constructor({ address, replicas, timeoutMs = 250, log, tls, now = () => performance.now() }: RateLimiterOptions) {
    this.#service = client(RateLimitServiceService, {
      name: 'rate-limit',
      address,
      // Longer than our own timeout, which takes a late answer that has arrived. This one tells the service when to stop.
      timeoutMs: 2 * timeoutMs + 1_000,
      // Short: gateways that ask again and gateways that still count by themselves grant too much together.
      tryAgainMs: 200,
      retry: false,
      tls,
    });
    this.#replicas = replicas;
    this.#patience = new Patience(timeoutMs);
    this.#log = log;
    // Fractions would add up to one more millisecond.
    this.#now = () => Math.floor(now());
  }

  /**
   * The refusal of one request from memory. Its charge would change nothing, so that the service isn't asked.
   * @returns undefined where the request has to be charged by {@link check}
   */
  recall(check: Check): Decision | undefined {
    const decision = this.#refusalOf(check);
    if (decision) this.#countRecalled(check);
    return decision;
  }

  /** Whether {@link recall} would refuse a request. */
  isUsedUp(check: Check): boolean {
    return this.#refusalOf(check) !== undefined;
  }

  #refusalOf(check: Check): Decision | undefined {
    for (const each of countersOf(check)) {
      const window = this.#windows.get(keyOf(each));
      const decision = window && repeatRefusal(window, this.#now());
      if (decision) return decision;
    }
    return undefined;
  }

  /**
   * Charges one request that is refused in any case. Nobody waits for such an answer, so that the charge first waits for others: a crowd of
   * them shares few calls, and the crowd of one counter a descriptor. Never throws.
   */
  checkAtLeisure(check: Check): Promise<Decision> {
    return this.#chargeAll(check, (each) => this.#checkOneAtLeisure(each));
  }

  /** Charges one request. Never throws. */
  check(check: Check): Promise<Decision> {
    return this.#chargeAll(check, (each) => this.#checkOne(each));
  }

  close(): void {
    this.#service.close();
  }

  /**
   * Charges one request to all its counters, by one call. A request that one of them is known to refuse isn't charged at all: otherwise a
   * single address over its limit would use up the limits of the networks around it.
   */
  #chargeAll(check: Check, charge: (check: Check) => Promise<Decision>): Promise<Decision> {
    if (!check.wider) return charge(check);
    const refusal = this.recall(check);
    return refusal ? Promise.resolve(refusal) : Promise.all(countersOf(check).map(charge)).then(decisive);
  }

  #checkOneAtLeisure(check: Check): Promise<Decision> {
    const key = keyOf(check);
    const { promise, resolve } = Promise.withResolvers<Decision>();
    if (this.#leisurely.size === 0) setTimeout(() => this.#flushLeisurely(), LEISURE_MS);
    const waiting = this.#leisurely.get(key);
    if (waiting) waiting.resolve.push(resolve);
    else this.#leisurely.set(key, { check, key, resolve: [resolve] });
    return promise;
  }

  #checkOne(check: Check): Promise<Decision> {
    const key = keyOf(check);
    const { decision } = this.#apply(key, { type: 'request', rule: check.rule, replicas: this.#replicas });
    if (decision) return Promise.resolve(this.#count(check, decision));
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#waiting.push({ check, key, resolve: [resolve] });
    if (this.#waiting.length === 1) setImmediate(() => this.#flush());
    return promise;
  }

  #apply(key: string, event: WindowEvent): Step {
    const known = this.#windows.get(key);
    const step = next(known, event, this.#now());
    if (step.window && step.window !== known) this.#windows.set(key, step.window);
    return step;
  }

  /** Near the limit each request is charged by itself, so that exactly the limit's requests are admitted. */
  #flushLeisurely(): void {
    const leisurely = this.#leisurely;
    this.#leisurely = new Map();
    for (const { check, key, resolve } of leisurely.values()) {
      const window = this.#windows.get(key);
      const hasRoom = window && !window.share && window.endsAt > this.#now() && window.remaining >= ROOM * resolve.length;
      if (hasRoom) this.#waiting.push({ check, key, resolve });
      else this.#waiting.push(...resolve.map((each) => ({ check, key, resolve: [each] })));
    }
    this.#flush();
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let start = 0; start < waiting.length; start += MAX_DESCRIPTORS) {
      void this.#charge(waiting.slice(start, start + MAX_DESCRIPTORS));
    }
  }

  async #charge(batch: Waiting[]): Promise<void> {
    const chargedAt = this.#now();
    const reports = batch.map(({ key }) => this.#apply(key, { type: 'charge' }).report);
    const verdicts = await this.#ask(batch.map(({ check, resolve }, index) => describe(check, resolve.length, reports[index])));
    for (const [index, { check, key, resolve }] of batch.entries()) {
      const [verdict, report] = [verdicts?.[index], reports[index]];
      if (!verdict) {
        const failure = { type: 'failure', rule: check.rule, replicas: this.#replicas } as const;
        // The first request takes the report back.
        for (const [n, each] of resolve.entries())
          each(this.#count(check, this.#apply(key, { ...failure, report: n === 0 ? report : undefined }).decision!));
        continue;
      }
      const decision = this.#apply(key, { type: 'answer', verdict, chargedAt, report }).decision!;
      this.#count(check, decision, resolve.length);
      // The verdict is that of the last request.
      for (const [n, each] of resolve.entries())
        each(decision.allowed ? { ...decision, remaining: decision.remaining + resolve.length - 1 - n } : decision);
    }
  }

  /** Adds up a second's refusals: a metric costs more than the rest of such an answer. */
  #countRecalled({ kind }: Check): void {
    const count = this.#recalled.get(kind) ?? 0;
    this.#recalled.set(kind, count + 1);
    if (count > 0) return;
    const report = () => {
      this.#decisions.add(this.#recalled.get(kind)!, { kind, outcome: 'refused', source: 'remembered' });
      this.#recalled.delete(kind);
    };
    setTimeout(report, COUNT_EVERY_MS).unref();
  }

  #count({ kind }: Check, decision: Decision, requests = 1): Decision {
    const { allowed, source } = decision;
    this.#decisions.add(requests, { kind, outcome: allowed ? 'allowed' : 'refused', source });
    return decision;
  }

  /** Returns the service's verdicts in the order of the descriptors; undefined where the service gave no verdict. */
  async #ask(descriptors: RateLimitDescriptor[]): Promise<(Verdict | undefined)[] | undefined> {
    const hurry = new AbortController();
    try {
      const call = this.#service.shouldRateLimit({ domain: DOMAIN, descriptors, hitsAddend: 1 }, { signal: hurry.signal });
      const { statuses } = await this.#patience.within(call);
      const verdicts = statuses.map(readStatus);
      const missing = verdicts.filter((verdict) => verdict === undefined).length;
      if (missing > 0) this.#failures.add(missing, { 'error.type': 'no_limit' });
      return verdicts;
    } catch (error) {
      // A service that only paused must not count a call that we no longer wait for.
      if (error instanceof Late) hurry.abort(error);
      const kind = error instanceof ServiceError ? error.kind : 'deadline_exceeded';
      this.#failures.add(descriptors.length, { 'error.type': kind });
      this.#warn(error);
      return undefined;
    }
  }

  /** Warns at most every 10 s, as every request meets the same failure. */
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

/** The decision that the client learns: that of the narrowest counter that refuses or, if none does, of the narrowest. */
function decisive(decisions: Decision[]): Decision {
  return decisions.find(({ allowed }) => !allowed) ?? decisions[0]!;
}

function keyOf(check: Check): string {
  return (check.key ??= `${check.kind}:${check.id}:${formatRule(check.rule)}`);
}

function describe({ kind, id, rule }: Check, requests: number, report: Report | undefined): RateLimitDescriptor {
  const entries = [
    { key: 'kind', value: kind },
    { key: 'id', value: id },
    { key: 'rule', value: formatRule(rule) },
  ];
  if (!report) return { entries, limit: undefined, hitsAddend: requests === 1 ? undefined : requests };
  entries.push({ key: 'window', value: `${report.counted}/${report.windowMs}` });
  return { entries, limit: undefined, hitsAddend: requests + report.admitted };
}

/** Ignores a status that names no limit: it comes from a service that doesn't know our descriptors and would admit everything. */
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
