import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

const LOCKED = { now: column.timestamp };

/**
 * Locks out other imports and erasures of the organization in this service until the transaction ends, so that the rows that an import reads don't change
 * before it writes. Returns a time at which the lock was held, so that a later import has a later time.
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
