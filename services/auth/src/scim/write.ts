import type { Query } from '@crs/kit/data/database';
import { lockDirectory } from '../store/group-maps.ts';
import type { ScimCall } from './context.ts';
import { ScimError, unauthorized } from './scim-error.ts';

/**
 * Writes in a transaction, one after the other for an organization. `work` may throw a ScimError before it changes anything: the transaction
 * then commits nothing, because a rollback would cost its connection.
 */
export async function inLockedDirectory<T>(
  { db, scope, organization }: ScimCall,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const result = await db.transact(scope, async (query) => {
    const [locked] = await query(lockDirectory(organization));
    // The organization's deletion has begun.
    if (!locked) return unauthorized();
    return work(query).catch((error: unknown) => {
      if (error instanceof ScimError) return error;
      throw error;
    });
  });
  if (result instanceof ScimError) throw result;
  return result;
}
