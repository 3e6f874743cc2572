import type { Query } from '@crs/kit/data/database';

/** One import or erasure of an organization at a time, so that what is read before writing holds. @returns the transaction's time */
export async function lockImports(query: Query, organization: string): Promise<Date> {
  const [row] = await query<{ now: Date }>({
    name: 'lock_imports',
    text: `select pg_advisory_xact_lock(hashtextextended('projects.import:' || $1, 0)), now()::timestamptz(3) as now`,
    values: [organization],
  });
  return row!.now;
}
