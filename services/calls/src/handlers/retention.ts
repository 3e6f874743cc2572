import type { Database } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import { LRUCache } from 'lru-cache';
import { FORGOTTEN_AT_ONCE, forgetDeletions } from '../store/feed.ts';

const EVERY_MS = 3_600_000;
const MAX_STEPS = 10;

/**
 * Forgets old deletions of an organization whose changes are read, at most once an hour. Writes forget them, too, but a quiet organization
 * has none.
 */
export function retention(db: Database, log: Logger): (scope: Scope) => Promise<void> {
  /** The organizations whose old deletions were looked for within the hour. */
  const looked = new LRUCache<string, true>({ max: 10_000, ttl: EVERY_MS });
  return async (scope) => {
    if (looked.has(scope.organization)) return;
    looked.set(scope.organization, true);
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
