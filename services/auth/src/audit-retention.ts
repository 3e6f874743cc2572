import type { Database } from '@crs/kit/data/database';
import { everyOrganizationScope, workFor } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import { countDeleted } from '@crs/records/count-deleted';
import { deleteOldEntries } from './store/audit.ts';

const EVERY_MS = 60_000;
const BATCH_MS = 10_000;
const BATCH = 1_000;

/** Every minute, deletes entries of the audit trail that are older than `days`. @returns a function that stops it */
export function startAuditRetention(days: number, db: Database, log: Logger): () => void {
  const deleteInBatches = async () => {
    for (let deleted = BATCH; deleted === BATCH;) {
      deleted = (await db.run(everyOrganizationScope(workFor(BATCH_MS)), deleteOldEntries(days, BATCH))).length;
      countDeleted('audit', deleted);
    }
  };
  countDeleted('audit', 0);
  const timer = setInterval(() => {
    deleteInBatches().catch((error) => log.warn({ err: error }, 'old entries of the audit trail could not be deleted'));
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
