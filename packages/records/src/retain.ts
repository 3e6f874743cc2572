/** How long an organization keeps its calls. */

/** 1 to 100 years, or 1 to 99,999 days. */
const PERIOD = /^(?:([1-9]\d?|100)y|([1-9]\d{0,4})d)$/;
const DAY_MS = 86_400_000;

export const RETAIN_BY = ['date', 'created'] as const;
export type RetainBy = (typeof RETAIN_BY)[number];

/** Whether the text is a period, such as `3y` or `90d`, or `none`. */
export function isRetention(text: string): boolean {
  return text === 'none' || PERIOD.test(text);
}

/** Returns the time before which calls are older than the period; undefined for `none`. */
export function cutoffOf(period: string, now: Date): Date | undefined {
  const [, years, days] = PERIOD.exec(period) ?? [];
  const cutoff = new Date(now);
  if (years !== undefined) cutoff.setUTCFullYear(cutoff.getUTCFullYear() - Number(years));
  else if (days !== undefined) cutoff.setTime(cutoff.getTime() - Number(days) * DAY_MS);
  else return undefined;
  return cutoff;
}
