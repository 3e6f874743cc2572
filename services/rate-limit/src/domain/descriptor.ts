import { invalid } from '@crs/kit/errors';
import { parseRule, type Rule } from '@crs/kit/limits/rule';
import { RateLimitUnit } from '@crs/proto/envoy/type/v3/ratelimit_unit';
import type {
  RateLimitDescriptor,
  RateLimitDescriptor_RateLimitOverride,
} from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';

/** A parsed descriptor: the counter to charge, and its limit. */
export interface Charge {
  key: string;
  rule: Rule;
  /** The number of hits. Undefined: that of the request. */
  amount: number | undefined;
}

/** The protocol's units in seconds. Months and years have the lengths of Envoy's reference implementation. */
export const UNIT_SECONDS = new Map<RateLimitUnit, number>([
  [RateLimitUnit.SECOND, 1],
  [RateLimitUnit.MINUTE, 60],
  [RateLimitUnit.HOUR, 3_600],
  [RateLimitUnit.DAY, 86_400],
  [RateLimitUnit.MONTH, 30 * 86_400],
  [RateLimitUnit.YEAR, 365 * 86_400],
]);

/** The entry in which our gateways send a limit: the protocol's override can't express 10 seconds, for example. */
const RULE = 'rule';

/**
 * Reads a descriptor. Its limit is its `rule` entry, else its override, else the default of its `kind`.
 * @param field the descriptor's name in errors
 * @returns undefined if no limit applies
 * @throws ServiceError invalid_argument
 */
export function readDescriptor(
  domain: string,
  descriptor: RateLimitDescriptor,
  defaults: ReadonlyMap<string, Rule>,
  field: string,
): Charge | undefined {
  const { entries, limit } = descriptor;
  if (entries.length === 0) throw invalid(`${field}.entries`, 'must not be empty');
  if (entries.some(({ key, value }) => key === '' || value === ''))
    throw invalid(`${field}.entries`, 'must each have a key and a value');
  const valueOf = (name: string) => entries.find(({ key }) => key === name)?.value;
  const text = valueOf(RULE);
  const rule =
    text !== undefined
      ? readRule(text, field)
      : limit !== undefined
        ? readOverride(limit, field)
        : defaults.get(valueOf('kind') ?? '');
  if (!rule) return undefined;
  const amount = descriptor.hitsAddend;
  if (amount !== undefined && amount > MAX_HITS) throw invalid(`${field}.hits_addend`, `must be at most ${MAX_HITS}`);
  return { key: keyOf(domain, entries, rule), rule, amount };
}

/** The largest uint32, as the request's own `hits_addend`. */
const MAX_HITS = 2 ** 32 - 1;

function readRule(text: string, field: string): Rule {
  const rule = parseRule(text);
  if (!rule) throw invalid(`${field}.entries`, 'must have a rule of the form requests/seconds, as in 600/60');
  return rule;
}

function readOverride({ requestsPerUnit, unit }: RateLimitDescriptor_RateLimitOverride, field: string): Rule {
  const periodSeconds = UNIT_SECONDS.get(unit);
  if (periodSeconds === undefined) throw invalid(`${field}.limit.unit`, 'must be a unit of time from SECOND to YEAR');
  return { requests: requestsPerUnit, periodSeconds };
}

/**
 * Makes a key, such as `rl:{call-research:kind=organization:id=acme}:600/60`. The braces keep the counters of one subject in one slot
 * of a Redis Cluster. The key contains the rule, so that a changed limit opens a new window. Escaping keeps different entries apart.
 */
function keyOf(domain: string, entries: RateLimitDescriptor['entries'], { requests, periodSeconds }: Rule): string {
  const subject = entries
    .filter(({ key }) => key !== RULE)
    .map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return `rl:{${[encodeURIComponent(domain), ...subject].join(':')}}:${requests}/${periodSeconds}`;
}
