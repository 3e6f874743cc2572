import { z } from 'zod';

/** The widest rule's requests. */
export const MOST_REQUESTS = 1_000_000_000;

/** Limits the requests in a window, which opens with the first request. */
export interface Rule {
  /** 1..{@link MOST_REQUESTS}. */
  requests: number;
  /** 1..31,622,400, which is a leap year. */
  periodSeconds: number;
}

/** How a rule applies to a request. `limit` and `remaining` count requests. */
export interface Verdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window closes. */
  resetInMs: number;
}

/**
 * A verdict and its source: the rate-limit service; this process, which repeats a refusal of the service; or this process alone, while
 * the service doesn't respond.
 */
export interface Decision extends Verdict {
  source: 'service' | 'remembered' | 'fallback';
}

const RULE = /^([1-9]\d{0,9})\/([1-9]\d{0,7})$/;
const LONGEST_PERIOD_SECONDS = 366 * 86_400;

/** Reads `600/60`: requests, then seconds. @returns undefined for any other text */
export function parseRule(text: string): Rule | undefined {
  const match = RULE.exec(text);
  const [requests, periodSeconds] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || requests > MOST_REQUESTS || periodSeconds > LONGEST_PERIOD_SECONDS) return undefined;
  return { requests, periodSeconds };
}

/** A rule that allows so many times as many requests in the same period. */
export function widen({ requests, periodSeconds }: Rule, times: number): Rule {
  return { requests: Math.min(requests * times, MOST_REQUESTS), periodSeconds };
}

export function formatRule({ requests, periodSeconds }: Rule): string {
  return `${requests}/${periodSeconds}`;
}

/** Reads a rule from a setting. */
export const ruleSetting = z.string().transform((text, context): Rule => {
  const rule = parseRule(text);
  if (rule) return rule;
  context.addIssue({ code: 'custom', message: 'must be requests/seconds, as in 600/60' });
  return z.NEVER;
});
