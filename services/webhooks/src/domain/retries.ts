const FIRST_DELAY_MS = 5_000;
const MAX_DELAY_MS = 3_600_000;
/** Added at random, so that endpoints that failed together aren't retried together. */
const MAX_JITTER = 0.2;
const GIVE_UP_MS = 5 * 86_400_000;
const GONE = 410;

/** How long to wait after the nth failure in a row. @param random from 0 to 1 */
export function delayAfter(failures: number, random = Math.random()): number {
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 20));
  return Math.round(delay * (1 + MAX_JITTER * random));
}

/** Returns why a failed endpoint is disabled; undefined if it is retried. */
export function reasonToDisable(status: number | undefined, failingSince: Date, now: Date): 'gone' | 'failing' | undefined {
  if (status === GONE) return 'gone';
  return now.getTime() - failingSince.getTime() >= GIVE_UP_MS ? 'failing' : undefined;
}
