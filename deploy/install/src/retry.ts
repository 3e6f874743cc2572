import pRetry from 'p-retry';

/** In a fresh cluster, the database and the Kubernetes API may start at the same time as the installation. */
const RETRY_MS = 60_000;
const PAUSE_MS = 1_000;

/** Retries every second, by default for a minute, after errors that are transient. @throws the last error */
export function retryTransient<T>(
  attempt: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
  timeoutMs = RETRY_MS,
): Promise<T> {
  const schedule = { retries: Infinity, factor: 1, minTimeout: PAUSE_MS, maxRetryTime: timeoutMs };
  return pRetry(attempt, { ...schedule, shouldRetry: ({ error }) => isTransient(error) });
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

/** Whether the peer couldn't be reached. */
export function isNetworkError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && NETWORK.has(error.code);
}
