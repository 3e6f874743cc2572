import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const LOCKED = { now: column.timestamp };

/**
 * Waits for other imports and erasures of this organization's records in this service, and makes later ones wait until the transaction ends: each of them
 * calls this first. So the rows that an import reads don't change before it writes. Returns the time after the wait, in milliseconds, so that a later
 * import has no earlier time.
 */
export function lockImports(service: string, organization: string): Statement<column.RowOf<typeof LOCKED>> {
  return {
    name: 'lock_imports',
    row: LOCKED,
    // PostgreSQL evaluates FROM, and so takes the lock, before the select list.
    text: `select date_trunc('milliseconds', clock_timestamp()) as now
      from pg_advisory_xact_lock(hashtextextended($1 || '.import:' || $2, 0))`,
    values: [service, organization],
  };
}
