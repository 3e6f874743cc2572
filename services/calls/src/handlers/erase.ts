import { FIRST_TEXT, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import type { RecordContext } from '@crs/records/record-service';
import { eraseCalls, eraseChanges, eraseProjectCalls, eraseRest, eraseUser } from '../store/erase.ts';
import { placeChanges } from '../store/feed.ts';

/** Readers wait for no more than this many deletions at once. */
const CALLS_AT_ONCE = 1_000;

/** In steps, each committed. A repeated call goes on where an earlier one has ended. */
export function erase(context: RecordContext) {
  return eraseRpc('calls', context, (target, { organization, locked, all }) => {
    switch (target?.$case) {
      case 'organization':
        return [
          all(FIRST_TEXT, eraseCalls),
          all(FIRST_TEXT, eraseChanges),
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
