import pRetry from 'p-retry';

/** In a fresh cluster, the database and the Kubernetes API may start at the same time as the installation. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

/** Tries each second, for a minute, while `passes` says that the error may pass. @throws the last error */
export function patiently<T>(
  attempt: () => Promise<T>,
  passes: (error: unknown) => boolean,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const schedule = { retries: Infinity, factor: 1, minTimeout: PAUSE_MS, maxRetryTime: patienceMs };
  return pRetry(attempt, { ...schedule, shouldRetry: ({ error }) => passes(error) });
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

/** Whether the peer isn't there, or not yet. */
export function isNetworkError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && NETWORK.has(error.code);
}
