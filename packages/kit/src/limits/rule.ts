import { z } from 'zod';
import type { Count } from './counter-store.ts';

/** So many requests in a window, which opens with the first of them. */
export interface Rule {
  /** 1..999,999,999. */
  requests: number;
  /** 1..31,622,400, which is a leap year. */
  periodSeconds: number;
}

/** What a rule says to a hit. `limit` and `remaining` are requests; `resetInMs` is when the window closes, from now. */
export interface Verdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  resetInMs: number;
}

const RULE = /^([1-9]\d{0,8})\/([1-9]\d{0,7})$/;
const LONGEST_PERIOD_SECONDS = 366 * 86_400;

/** `600/60`: requests, then seconds. @returns undefined for anything else */
export function parseRule(text: string): Rule | undefined {
  const match = RULE.exec(text);
  const periodSeconds = Number(match?.[2]);
  if (!match || periodSeconds > LONGEST_PERIOD_SECONDS) return undefined;
  return { requests: Number(match[1]), periodSeconds };
}

export function formatRule({ requests, periodSeconds }: Rule): string {
  return `${requests}/${periodSeconds}`;
}

/** A rule as a setting. */
export const ruleSetting = z.string().transform((text, context): Rule => {
  const rule = parseRule(text);
  if (rule) return rule;
  context.addIssue({ code: 'custom', message: 'must be requests/seconds, as in 600/60' });
  return z.NEVER;
});

/** Judges a hit by the count that includes it: the hit that reaches the limit is the last one allowed. */
export function decide(rule: Rule, { count, resetInMs }: Count): Verdict {
  return { allowed: count <= rule.requests, limit: rule.requests, remaining: Math.max(0, rule.requests - count), resetInMs };
}
