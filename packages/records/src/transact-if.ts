import type { Database } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';

/** Rolls a transaction back though its work succeeded. */
class RolledBack extends Error {}

/** Runs a transaction, and commits it only if `commits` returns true for its result. */
export async function transactIf<T>(
  db: Database,
  scope: Scope,
  work: (...transaction: Parameters<Parameters<Database['transact']>[1]>) => Promise<T>,
  commits: (result: T) => boolean,
): Promise<T> {
  let rolledBack: { result: T } | undefined;
  try {
    return await db.transact(scope, async (...transaction) => {
      const result = await work(...transaction);
      if (commits(result)) return result;
      rolledBack = { result };
      throw new RolledBack();
    });
  } catch (error) {
    if (error instanceof RolledBack && rolledBack) return rolledBack.result;
    throw error;
  }
}
