import { ServiceError } from '@crs/kit/errors';
import pRetry from 'p-retry';

const OUTAGE_MS = 30_000;
const MAX_RACES = 5;
/** A pause is a random time between this and its double, so that two imports that met don't meet again. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Repeats a call that may be repeated, such as that of an import, whose second try changes nothing: up to five times after lost races with
 * another import, and for up to 30 seconds while the service is away or overloaded, which is longer than a restart takes. Throws other
 * errors, and the last error.
 */
export function retrying<Request, Response>(
  send: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return (request) => {
    let races = 0;
    let awaySince: number | undefined;
    const mayPass = (error: Error) => {
      switch (error instanceof ServiceError ? error.kind : undefined) {
        case 'aborted':
          return ++races < MAX_RACES;
        case 'unavailable':
        case 'deadline_exceeded':
        case 'resource_exhausted':
          awaySince ??= performance.now();
          return performance.now() - awaySince < OUTAGE_MS;
        default:
          return false;
      }
    };
    return pRetry(() => send(request), {
      retries: Infinity,
      minTimeout: FIRST_PAUSE_MS,
      maxTimeout: LONGEST_PAUSE_MS,
      randomize: true,
      shouldRetry: ({ error }) => mayPass(error),
    });
  };
}
