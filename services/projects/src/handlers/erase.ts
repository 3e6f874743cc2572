import { FIRST_TEXT, FIRST_UUID, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import type { RecordContext } from '@crs/records/record-service';
import { eraseBillingOffices } from '../store/billing-offices.ts';
import { eraseCreations, removePerson } from '../store/creations.ts';
import { feed } from '../store/feed.ts';
import { eraseProject, eraseProjects } from '../store/projects.ts';

export function erase(context: RecordContext) {
  return eraseRpc('projects', context, (target, { organization, locked, all }) => {
    switch (target?.$case) {
      case 'organization':
        return [
          all(FIRST_TEXT, eraseCreations),
          all(FIRST_UUID, eraseProjects),
          once(() => locked((query) => query(eraseBillingOffices(organization)))),
          all(FIRST_UUID, feed.eraseChanges),
          once(() => locked((query) => query(feed.erase(organization)))),
        ];
      case 'projectId':
        return [
          once(() =>
            locked(async (query, now) => {
              const erased = await eraseProject(query, organization, target.value);
              const moved = erased.map(({ projectId }) => ({ recordId: projectId, changedAt: now, deleted: true }));
              await feed.append(query, organization, moved, now);
            }),
          ),
        ];
      // Stored responses to creations contain users. Auth erases the users' roles.
      case 'userId':
        return [once(() => locked((query) => query(removePerson(organization, target.value))))];
      case undefined:
        return [];
    }
  });
}
