import { ServiceError } from '@crs/kit/errors';
import pRetry from 'p-retry';

const OUTAGE_MS = 30_000;
const MAX_CONFLICTS = 5;
/** Each pause is a random time between this and its double, so that two conflicting imports don't conflict again. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

const TRANSIENT = new Set(['aborted', 'unavailable', 'deadline_exceeded', 'resource_exhausted']);

/** Whether the same call may succeed later. */
export function isTransient(error: unknown): error is ServiceError {
  return error instanceof ServiceError && TRANSIENT.has(error.kind);
}

/**
 * Retries an idempotent call: up to five times after conflicts with another import, and for up to 30 seconds, longer than a restart takes,
 * while the service is unavailable or overloaded. Throws other errors, and the last error.
 */
export function retrying<Request, Response>(
  send: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return (request) => {
    let conflicts = 0;
    let failingSince: number | undefined;
    const shouldRetry = (error: Error) => {
      if (!isTransient(error)) return false;
      if (error.kind === 'aborted') return ++conflicts < MAX_CONFLICTS;
      failingSince ??= performance.now();
      return performance.now() - failingSince < OUTAGE_MS;
    };
    return pRetry(() => send(request), {
      retries: Infinity,
      minTimeout: FIRST_PAUSE_MS,
      maxTimeout: LONGEST_PAUSE_MS,
      randomize: true,
      shouldRetry: ({ error }) => shouldRetry(error),
    });
  };
}
