import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '@crs/kit/errors';
import type { Send } from './run.ts';

/** How time passes, in milliseconds; tests bring their own. */
export interface Clock {
  now(): number;
  sleep(ms: number): Promise<unknown>;
}

const OUTAGE_MS = 30_000;
const MAX_RACES = 5;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/**
 * Sends a batch again, which changes nothing that was stored: a few times after a lost race with another import, and for up to
 * 30 seconds while the service is away or has too much to do, which is longer than a restart takes. Other errors, and the last of these, are thrown.
 */
export function retrying(send: Send, clock: Clock = { now: () => performance.now(), sleep }): Send {
  return async (batch) => {
    let races = 0;
    let awaySince: number | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await send(batch);
      } catch (error) {
        const kind = error instanceof ServiceError ? error.kind : undefined;
        if (kind === 'aborted') {
          if (++races === MAX_RACES) throw error;
        } else if (kind === 'unavailable' || kind === 'deadline_exceeded' || kind === 'resource_exhausted') {
          awaySince ??= clock.now();
          if (clock.now() - awaySince >= OUTAGE_MS) throw error;
        } else {
          throw error;
        }
      }
      // Spread, so that two imports that met don't meet again.
      await clock.sleep(pause * (0.5 + Math.random() / 2));
    }
  };
}
