import { invalid } from '@crs/kit/errors';
import { parseRule, type Rule } from '@crs/kit/limits/rule';
import { RateLimitUnit } from '@crs/proto/envoy/type/v3/ratelimit_unit';
import type {
  RateLimitDescriptor,
  RateLimitDescriptor_RateLimitOverride,
} from '@crs/proto/envoy/extensions/common/ratelimit/v3/ratelimit';

/** What a descriptor asks for: a counter and the rule that it is held against. */
export interface Charge {
  key: string;
  rule: Rule;
  /** Hits; undefined: those of the request. */
  amount: number | undefined;
  /** How long the window stays open if this charge opens it. */
  windowMs: number;
  /** What was counted in this window before, even if the counter was lost. */
  atLeast: number;
}

/** Seconds in the units of the protocol; months and years as Envoy's own service counts them. */
export const UNIT_SECONDS = new Map<RateLimitUnit, number>([
  [RateLimitUnit.SECOND, 1],
  [RateLimitUnit.MINUTE, 60],
  [RateLimitUnit.HOUR, 3_600],
  [RateLimitUnit.DAY, 86_400],
  [RateLimitUnit.MONTH, 30 * 86_400],
  [RateLimitUnit.YEAR, 365 * 86_400],
]);

/** The entry with which our gateways bring a limit, since the protocol's override knows whole units only. */
const RULE = 'rule';

/**
 * The entry with which our gateways bring a window that they have counted in by themselves meanwhile: what they knew to be counted
 * before, then what is left of it in milliseconds, as in `60/1900`. The hits that come with it belong to that window.
 */
const WINDOW = 'window';

/**
 * Reads a descriptor. The limit is the one of its `rule` entry, else its override, else the default of its `kind`.
 * @param field how errors call the descriptor
 * @returns undefined where no limit applies
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
  return { key: keyOf(domain, entries, rule), rule, amount, ...readWindow(valueOf(WINDOW), rule, field) };
}

/** That of the request is as wide. */
const MAX_HITS = 2 ** 32 - 1;

function readWindow(text: string | undefined, { periodSeconds }: Rule, field: string): Pick<Charge, 'windowMs' | 'atLeast'> {
  const whole = periodSeconds * 1_000;
  if (text === undefined) return { windowMs: whole, atLeast: 0 };
  const match = /^(0|[1-9]\d{0,9})\/([1-9]\d{0,11})$/.exec(text);
  if (!match) throw invalid(`${field}.entries`, `must have a ${WINDOW} of the form hits/milliseconds`);
  return { windowMs: Math.min(whole, Number(match[2])), atLeast: Number(match[1]) };
}

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
 * `rl:{call-research:kind=organization:id=acme}:600/60`. The braces keep the counters of one subject in one slot of a Redis Cluster;
 * the rule is in the key, so that a changed limit opens a window of its own. Escaping keeps different entries apart.
 */
function keyOf(domain: string, entries: RateLimitDescriptor['entries'], { requests, periodSeconds }: Rule): string {
  const subject = entries
    .filter(({ key }) => key !== RULE && key !== WINDOW)
    .map(({ key, value }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return `rl:{${[encodeURIComponent(domain), ...subject].join(':')}}:${requests}/${periodSeconds}`;
}
