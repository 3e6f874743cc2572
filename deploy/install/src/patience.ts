import { setTimeout as sleep } from 'node:timers/promises';

/** In a fresh cluster, what we need comes up at the same time as we do. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

/** Tries again each second, for a minute, while `passes` says of the error that it may pass. @throws the last error */
export async function patiently<T>(
  attempt: () => Promise<T>,
  passes: (error: unknown) => boolean,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!passes(error) || performance.now() + PAUSE_MS > until) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** Nobody is there, yet. */
export function isNetworkError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && NETWORK.has(error.code);
}
