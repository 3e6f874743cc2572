import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';

/** Holds back other imports and erasures of the organization until the transaction ends. Returns the time at which the transaction began. */
export function lockImports(organization: string): Statement<{ now: Date }> {
  return {
    name: 'lock_imports',
    row: { now: column.instant },
    text: `select now()::timestamptz(3) as now from pg_advisory_xact_lock(hashtextextended('projects.import:' || $1, 0))`,
    values: [organization],
  };
}
