import { z } from 'zod';

export const MOST_REQUESTS = 1_000_000_000;

/** Limits the requests in a fixed window, which opens with the first request. */
export interface Rule {
  /** 1..{@link MOST_REQUESTS}. */
  requests: number;
  /** 1..31,622,400, a leap year. */
  periodSeconds: number;
}

/** The result of a rule for a request. `limit` and `remaining` count requests. */
export interface Verdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window closes. */
  resetInMs: number;
}

/**
 * A verdict and its source: the rate-limit service, a cached refusal (`remembered`), or the local count while the service is unavailable
 * (`fallback`).
 */
export interface Decision extends Verdict {
  source: 'service' | 'remembered' | 'fallback';
}

const RULE = /^([1-9]\d{0,9})\/([1-9]\d{0,7})$/;
const LONGEST_PERIOD_SECONDS = 366 * 86_400;

/** Parses `600/60`: requests, then seconds. @returns undefined for any other text */
export function parseRule(text: string): Rule | undefined {
  const match = RULE.exec(text);
  const [requests, periodSeconds] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || requests > MOST_REQUESTS || periodSeconds > LONGEST_PERIOD_SECONDS) return undefined;
  return { requests, periodSeconds };
}

/** Multiplies the requests that a rule allows. */
export function widen({ requests, periodSeconds }: Rule, times: number): Rule {
  return { requests: Math.min(requests * times, MOST_REQUESTS), periodSeconds };
}

export function formatRule({ requests, periodSeconds }: Rule): string {
  return `${requests}/${periodSeconds}`;
}

export const ruleSetting = z.string().transform((text, context): Rule => {
  const rule = parseRule(text);
  if (rule) return rule;
  context.addIssue({ code: 'custom', message: 'must be requests/seconds, as in 600/60' });
  return z.NEVER;
});
