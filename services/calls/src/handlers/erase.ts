import type { Query } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { eraseRpc } from '@crs/kit/product/erasure';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { eraseOrganization, eraseProjectCalls, eraseUser } from '../store/erase.ts';
import { placeChanges } from '../store/feed.ts';

/** Readers wait for no more than this many deletions at once. */
const CALLS_AT_ONCE = 1_000;

export function erase(context: RecordContext) {
  return eraseRpc('calls', context, async (target, scope) => {
    switch (target?.$case) {
      case 'organization':
        return locked(context, scope, (query) => eraseOrganization(query, scope.organization));
      case 'projectId':
        return eraseProject(context, scope, target.value);
      case 'userId':
        return locked(context, scope, (query) => eraseUser(query, scope.organization, target.value));
      case undefined:
        return undefined;
    }
  });
}

/** A transaction beside which nothing of the organization is imported or erased. */
function locked<T>({ importDb }: RecordContext, scope: Scope, work: (query: Query, now: Date) => Promise<T>): Promise<T> {
  return importDb.transact(scope, async (query) => {
    const [lock] = await query(lockImports('calls', scope.organization));
    return work(query, lock!.now);
  });
}

/** In steps, each committed. A repeated call goes on where an earlier one has ended. */
async function eraseProject(context: RecordContext, scope: Scope, projectId: string): Promise<void> {
  const { organization } = scope;
  for (let erased = CALLS_AT_ONCE; erased === CALLS_AT_ONCE;) {
    erased = await locked(context, scope, async (query, now) => {
      const gone = await query(eraseProjectCalls(organization, projectId, CALLS_AT_ONCE));
      const moved = gone.map(({ callId }) => ({ callId, changedAt: now, deleted: true }));
      await placeChanges(query, organization, moved, now);
      return gone.length;
    });
  }
}
