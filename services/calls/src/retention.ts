import type { Database } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import { FORGOTTEN_AT_ONCE, forgetDeletions } from './store/feed.ts';

const EVERY_MS = 3_600_000;
const MAX_STEPS = 10;

/**
 * Forgets old deletions of an organization whose changes are read, at most once an hour. Writes forget them, too, but a quiet organization
 * has none.
 */
export function retention(db: Database, log: Logger): (scope: Scope) => Promise<void> {
  /** When old deletions of each organization were last looked for. */
  const looked = new Map<string, number>();
  return async (scope) => {
    const now = performance.now();
    if (now - (looked.get(scope.organization) ?? -Infinity) < EVERY_MS) return;
    looked.set(scope.organization, now);
    try {
      for (let step = 0; step < MAX_STEPS; step++) {
        const [done] = await db.run(scope, forgetDeletions(scope.organization, new Date()));
        if ((done?.forgotten ?? 0) < FORGOTTEN_AT_ONCE) return;
      }
      looked.delete(scope.organization);
    } catch (error) {
      log.warn({ err: error }, 'old deletions could not be forgotten');
    }
  };
}
