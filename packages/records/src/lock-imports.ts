import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const TIME = { now: column.instant };

/**
 * Holds back other imports and erasures of the organization in this service until the transaction ends, so that rows that an import reads
 * don't change before it writes. Returns a time after which the lock was held, so that a later import has a later time.
 */
export function lockImports(service: string, organization: string): Statement<column.RowOf<typeof TIME>> {
  return {
    name: 'lock_imports',
    row: TIME,
    // PostgreSQL takes the lock in FROM before it computes the select list.
    text: `select date_trunc('milliseconds', clock_timestamp()) as now
      from pg_advisory_xact_lock(hashtextextended($1 || '.import:' || $2, 0))`,
    values: [service, organization],
  };
}
