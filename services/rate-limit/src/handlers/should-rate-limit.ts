import { invalid } from '@crs/kit/errors';
import type { Rule } from '@crs/kit/limits/rule';
import { meter } from '@crs/kit/process/telemetry';
import { rpc } from '@crs/kit/rpc/server';
import type { RateLimitDescriptor } from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';
import {
  RateLimitResponse_Code as Code,
  RateLimitResponse_RateLimit_Unit as Unit,
  type RateLimitRequest,
  type RateLimitResponse,
  type RateLimitResponse_DescriptorStatus as DescriptorStatus,
} from '@crs/proto/envoy/service/ratelimit/v3/rls';
import type { Count, CounterStore } from '../domain/counter.ts';
import { readDescriptor, UNIT_SECONDS, type Charge } from '../domain/descriptor.ts';

export interface Context {
  store: CounterStore;
  /** Limits by the descriptor's `kind`. */
  defaults: ReadonlyMap<string, Rule>;
}

/** Charges every descriptor, even if another one is over its limit, and returns a status for each, in order. */
export function shouldRateLimit({ store, defaults }: Context) {
  const checks = meter('rate-limit').createCounter('crs.ratelimit.checks', {
    description: 'Descriptors that were answered for.',
  });
  return rpc({ anyone: true }, async (request: RateLimitRequest): Promise<RateLimitResponse> => {
    // Before the first is charged: one invalid descriptor refuses the request.
    const charges = parse(request, defaults);
    const statuses = await Promise.all(
      charges.map(async (charge) => {
        if (!charge) return UNLIMITED;
        const { key, rule, amount = request.hitsAddend || 1 } = charge;
        const { requests: limit, periodSeconds } = rule;
        return toStatus(rule, await store.add({ key, amount, windowMs: periodSeconds * 1_000, limit }));
      }),
    );
    for (const [index, { code, currentLimit }] of statuses.entries()) {
      const outcome = currentLimit === undefined ? 'unlimited' : code === Code.OK ? 'allowed' : 'refused';
      checks.add(1, { kind: kindOf(request.descriptors[index]!, defaults), outcome });
    }
    const over = statuses.some(({ code }) => code === Code.OVER_LIMIT);
    return { overallCode: over ? Code.OVER_LIMIT : Code.OK, statuses };
  });
}

/** Bounds the values of the metric's label, whatever a caller sends as `kind`. */
function kindOf({ entries }: RateLimitDescriptor, defaults: Context['defaults']): string {
  const kind = entries.find(({ key }) => key === 'kind')?.value;
  return kind !== undefined && defaults.has(kind) ? kind : 'other';
}

const UNLIMITED: DescriptorStatus = { code: Code.OK, currentLimit: undefined, limitRemaining: 0, durationUntilReset: undefined };

function parse({ domain, descriptors }: RateLimitRequest, defaults: Context['defaults']): (Charge | undefined)[] {
  if (domain === '') throw invalid('domain', 'must not be empty');
  if (descriptors.length === 0) throw invalid('descriptors', 'must not be empty');
  return descriptors.map((descriptor, index) => readDescriptor(domain, descriptor, defaults, `descriptors[${index}]`));
}

/** The hit that reaches the limit is the last one allowed. */
function toStatus({ requests, periodSeconds }: Rule, { count, allowed, resetInMs }: Count): DescriptorStatus {
  return {
    code: allowed ? Code.OK : Code.OVER_LIMIT,
    currentLimit: { requestsPerUnit: requests, unit: unitOf(periodSeconds), name: '' },
    limitRemaining: Math.max(0, requests - count),
    durationUntilReset: { seconds: Math.floor(resetInMs / 1000), nanos: (resetInMs % 1000) * 1_000_000 },
  };
}

function unitOf(periodSeconds: number): Unit {
  for (const [unit, seconds] of UNIT_SECONDS) if (seconds === periodSeconds) return unit;
  return Unit.UNKNOWN;
}
