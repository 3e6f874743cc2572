import { setImmediate } from 'node:timers/promises';

/** Others wait at most about this long for work that yields. */
const SLICE_MS = 5;

let last: Promise<unknown> = Promise.resolve();

/**
 * Starts a piece of long work that shares the event loop. Call the result between the steps of the work: once they have taken 5 ms, it resolves
 * in a later turn of the loop. By time, because the steps differ: one may take as long as a thousand others.
 */
export function timeSlices(): () => Promise<void> {
  let end = 0;
  return async () => {
    if (performance.now() < end) return;
    // A turn resumes one piece of work, so that the slices of several don't add up.
    last = last.then(() => setImmediate());
    await last;
    end = performance.now() + SLICE_MS;
  };
}
