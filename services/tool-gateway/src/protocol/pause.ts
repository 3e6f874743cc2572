import { setImmediate as turn } from 'node:timers/promises';

/** A step of work on a shorter text, such as parsing it, takes at most about 2 ms. */
const LONG = 1_000_000;

/** Lets other requests take their turn before the next step of work on a long text. A call in full has up to 8 MiB. */
export async function pauseIfLong(length: number): Promise<void> {
  if (length > LONG) await turn();
}
