import { FIRST_UUID, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import type { RecordContext } from '@crs/records/record-service';
import { eraseEntities, eraseProjectEntities } from '../store/entities.ts';
import { feed } from '../store/feed.ts';

/** Bounds how long readers wait for a transaction of deletions. */
const ENTITIES_AT_ONCE = 1_000;

export function erase(context: RecordContext) {
  return eraseRpc('entities', context, (target, { organization, locked, all }) => {
    switch (target?.$case) {
      case 'organization':
        return [
          all(FIRST_UUID, eraseEntities),
          all(FIRST_UUID, feed.eraseChanges),
          once(() => locked((query) => query(feed.erase(organization)))),
        ];
      case 'projectId':
        return [
          () =>
            locked(async (query, now) => {
              const erased = await query(eraseProjectEntities(organization, target.value, ENTITIES_AT_ONCE));
              const moved = erased.map(({ entityId }) => ({ recordId: entityId, changedAt: now, deleted: true }));
              await feed.append(query, organization, moved, now);
              return erased.length;
            }),
        ];
      // Entities belong to projects, never to users.
      case 'userId':
      case undefined:
        return [];
    }
  });
}
