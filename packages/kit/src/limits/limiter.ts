import {
  RateLimitResponse_Code,
  RateLimitServiceService,
  type RateLimitResponse_DescriptorStatus,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import type { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import { ServiceError } from '../errors.ts';
import { client, type ServiceClient } from '../rpc/client.ts';
import type { Logger } from '../process/log.ts';
import { meter } from '../process/telemetry.ts';
import type { Tls } from '../process/tls.ts';
import { Late, Patience } from '../process/patience.ts';
import { formatRule, type Rule, type Verdict } from './rule.ts';
import { Windows, type Carried } from './windows.ts';

/** Whose requests are counted together. */
export type LimitedKind = 'organization' | 'user' | 'address';

/** One request to be charged. */
export interface Check {
  kind: LimitedKind;
  /** Unique within the kind. */
  id: string;
  rule: Rule;
}

/**
 * The verdict, and who gave it: the rate-limit service; this process, which remembers a refusal of the service; or this process alone,
 * while the service is away.
 */
export interface Decision extends Verdict {
  source: 'service' | 'remembered' | 'fallback';
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
  key: string;
  resolve: (decision: Decision) => void;
}

const DOMAIN = 'call-research';
const MAX_DESCRIPTORS = 100;
const WARN_EVERY_MS = 10_000;

/**
 * Asks the rate-limit service. Checks that wait in the same turn of the event loop travel in one call, which belongs to the trace of
 * the first; each gets an answer of its own. A call isn't repeated, since its hits may have been counted. A refusal is remembered
 * until its window must be over, so that who goes on asking costs this process alone.
 *
 * A check never fails: without a usable answer it is counted here, against `max(1, floor(limit / replicas))`, or what is known to be
 * left if that is less. The decision then states this smaller limit, since a client that saw the whole one would be refused with much
 * of it apparently left. What was granted here is told to the service with the first charge that it answers again.
 */
export class RateLimiter {
  readonly #service: ServiceClient<RateLimitServiceService>;
  readonly #replicas: number;
  readonly #patience: Patience;
  readonly #log: Logger;
  readonly #windows = new Windows();
  readonly #decisions = meter('kit').createCounter('crs.ratelimit.decisions', { description: 'Requests that were charged.' });
  readonly #failures = meter('kit').createCounter('crs.ratelimit.failures', {
    description: 'Charges that the rate-limit service gave no answer to.',
  });
  #waiting: Waiting[] = [];
  #warnAt = -Infinity;

  constructor({ address, replicas, timeoutMs = 250, log, tls }: RateLimiterOptions) {
    // We time it ourselves, as a late answer that has arrived is read first; this is the service's reason to stop.
    const backstopMs = 2 * timeoutMs + 1_000;
    // While some gateways ask again and others still count by themselves, together they grant too much.
    const tryAgainMs = 200;
    this.#service = client(RateLimitServiceService, {
      name: 'rate-limit',
      address,
      timeoutMs: backstopMs,
      tryAgainMs,
      retry: false,
      tls,
    });
    this.#replicas = replicas;
    this.#patience = new Patience(timeoutMs);
    this.#log = log;
  }

  /** Charges one request. Never throws. */
  check(check: Check): Promise<Decision> {
    const key = `${check.kind}:${check.id}:${formatRule(check.rule)}`;
    const now = performance.now();
    const refusal = this.#windows.refusal(key, now);
    if (refusal) return Promise.resolve(this.#decided(check, { ...refusal, source: 'remembered' }));
    if (this.#windows.isTelling(key)) return Promise.resolve(this.#decided(check, this.#countHere({ check, key }, now)));
    const { promise, resolve } = Promise.withResolvers<Decision>();
    this.#waiting.push({ check, key, resolve });
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
    const asked = performance.now();
    const told = batch.map(({ key }) => this.#windows.tell(key, asked));
    const verdicts = await this.#ask(batch.map(({ check }, index) => describe(check, told[index])));
    const now = performance.now();
    for (const [index, { check, key, resolve }] of batch.entries()) {
      const verdict = verdicts?.[index];
      if (verdict) this.#windows.learn(key, verdict, asked, now);
      if (told[index]) this.#windows.told(key, verdict ? told[index].granted : 0);
      resolve(this.#decided(check, verdict ? { ...verdict, source: 'service' } : this.#countHere({ check, key }, now)));
    }
  }

  #countHere({ check, key }: Pick<Waiting, 'check' | 'key'>, now: number): Decision {
    return { ...this.#windows.count(key, check.rule, this.#replicas, now), source: 'fallback' };
  }

  #decided({ kind }: Check, decision: Decision): Decision {
    const { allowed, source } = decision;
    this.#decisions.add(1, { kind, outcome: allowed ? 'allowed' : 'refused', source });
    return decision;
  }

  /** The service's verdicts in order; undefined where it has none to give. */
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
      // Cancelled, it isn't counted by a service that was only away.
      if (error instanceof Late) hurry.abort(error);
      const kind = error instanceof ServiceError ? error.kind : 'deadline_exceeded';
      this.#failures.add(descriptors.length, { 'error.type': kind });
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
}

function describe({ kind, id, rule }: Check, told: Carried | undefined): RateLimitDescriptor {
  const entries = [
    { key: 'kind', value: kind },
    { key: 'id', value: id },
    { key: 'rule', value: formatRule(rule) },
  ];
  if (!told) return { entries, limit: undefined, hitsAddend: undefined };
  entries.push({ key: 'window', value: `${told.counted}/${told.windowMs}` });
  return { entries, limit: undefined, hitsAddend: 1 + told.granted };
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
