import { setImmediate } from 'node:timers/promises';

/** Short, because a request takes several turns of the loop and may wait for a slice at each turn. */
const SLICE_MS = 1;

let last: Promise<unknown> = Promise.resolve();

/**
 * Lets long work share the event loop. Await the returned function between the steps of the work: once they have taken `SLICE_MS`, it yields to the event
 * loop. It measures time, because one step may take as long as a thousand others.
 */
export function timeSlices(): () => Promise<void> {
  let end = 0;
  return async () => {
    if (performance.now() < end) return;
    // Each turn of the loop resumes only one task, so that the slices of several don't add up.
    last = last.then(() => setImmediate());
    await last;
    end = performance.now() + SLICE_MS;
  };
}
