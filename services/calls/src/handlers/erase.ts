import type { Query } from '@crs/kit/data/database';
import type { Scope } from '@crs/kit/data/scope';
import { FIRST_TEXT, inOrder, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import { eraseCalls, eraseChanges, eraseProjectCalls, eraseRest, eraseUser } from '../store/erase.ts';
import { placeChanges } from '../store/feed.ts';

/** Readers wait for no more than this many deletions at once. */
const CALLS_AT_ONCE = 1_000;

/** In steps, each committed. A repeated call goes on where an earlier one has ended. */
export function erase(context: RecordContext) {
  return eraseRpc('calls', context, (target, scope) => {
    const { organization } = scope;
    const locked = <T>(work: (query: Query, now: Date) => Promise<T>) => transactLocked(context, scope, work);
    switch (target?.$case) {
      case 'organization':
        return [
          ...[eraseCalls, eraseChanges].map((next) =>
            inOrder(
              FIRST_TEXT,
              (from) => next(organization, from),
              (statement) => locked((query) => query(statement)),
            ),
          ),
          once(() => locked((query) => eraseRest(query, organization))),
        ];
      case 'projectId':
        return [
          () =>
            locked(async (query, now) => {
              const gone = await query(eraseProjectCalls(organization, target.value, CALLS_AT_ONCE));
              const moved = gone.map(({ callId }) => ({ callId, changedAt: now, deleted: true }));
              await placeChanges(query, organization, moved, now);
              return gone.length;
            }),
        ];
      case 'userId':
        return [once(() => locked((query) => eraseUser(query, organization, target.value)))];
      case undefined:
        return [];
    }
  });
}

/** A transaction beside which nothing of the organization is imported or erased. */
function transactLocked<T>({ importDb }: RecordContext, scope: Scope, work: (query: Query, now: Date) => Promise<T>): Promise<T> {
  return importDb.transact(scope, async (query) => {
    const [lock] = await query(lockImports('calls', scope.organization));
    return work(query, lock!.now);
  });
}
