import { LRUCache } from 'lru-cache';
import type { RowOf } from '@crs/kit/data/column';
import type { Database, Statement } from '@crs/kit/data/database';
import { ROWS_AT_ONCE, type PRUNED } from '@crs/kit/data/delete-next';
import type { Scope } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import { countDeleted } from './count-deleted.ts';

const EVERY_MS = 3_600_000;
const MAX_BATCHES = 10;

/**
 * Returns a function that deletes an organization's expired rows, in batches, at most once an hour. Call it on reads: writes delete expired rows as well,
 * but an organization may only read.
 * @param reason the value of `crs.deletion.reason`
 */
export function retention(
  reason: Parameters<typeof countDeleted>[0],
  db: Database,
  log: Logger,
  prune: (organization: string, now: Date) => Statement<RowOf<typeof PRUNED>>,
): (scope: Scope) => Promise<void> {
  /** Organizations whose expired rows were deleted within the last hour. */
  const swept = new LRUCache<string, true>({ max: 10_000, ttl: EVERY_MS });
  countDeleted(reason, 0);
  return async (scope) => {
    if (swept.has(scope.organization)) return;
    swept.set(scope.organization, true);
    try {
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        const [result] = await db.run(scope, prune(scope.organization, new Date()));
        const pruned = result?.pruned ?? 0;
        countDeleted(reason, pruned);
        if (pruned < ROWS_AT_ONCE) return;
      }
      swept.delete(scope.organization);
    } catch (error) {
      log.warn({ err: error }, 'expired rows could not be deleted');
    }
  };
}
