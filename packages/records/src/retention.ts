import { LRUCache } from 'lru-cache';
import type { RowOf } from '@crs/kit/data/column';
import type { Database, Statement } from '@crs/kit/data/database';
import { ROWS_AT_ONCE, type FORGOTTEN } from '@crs/kit/data/delete-next';
import type { Scope } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import { countDeleted } from './count-deleted.ts';

const EVERY_MS = 3_600_000;
const MAX_STEPS = 10;

type Forget = (organization: string, now: Date) => Statement<RowOf<typeof FORGOTTEN>>;

/**
 * Forgets old rows of an organization that reads, at most once an hour, in steps. Writes forget them, too, but a quiet organization has none.
 * @param reason the value of `crs.deletion.reason`
 */
export function retention(
  reason: Parameters<typeof countDeleted>[0],
  db: Database,
  log: Logger,
  forget: Forget,
): (scope: Scope) => Promise<void> {
  /** The organizations whose old rows were looked for within the hour. */
  const looked = new LRUCache<string, true>({ max: 10_000, ttl: EVERY_MS });
  countDeleted(reason, 0);
  return async (scope) => {
    if (looked.has(scope.organization)) return;
    looked.set(scope.organization, true);
    try {
      for (let step = 0; step < MAX_STEPS; step++) {
        const [done] = await db.run(scope, forget(scope.organization, new Date()));
        const forgotten = done?.forgotten ?? 0;
        countDeleted(reason, forgotten);
        if (forgotten < ROWS_AT_ONCE) return;
      }
      looked.delete(scope.organization);
    } catch (error) {
      log.warn({ err: error }, 'old rows could not be forgotten');
    }
  };
}
