import { FIRST_UUID, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import type { RecordContext } from '@crs/records/record-service';
import { eraseEntities, eraseProjectEntities } from '../store/entities.ts';

export function erase(context: RecordContext) {
  return eraseRpc('entities', context, (target, { organization, locked, all }) => {
    switch (target?.$case) {
      case 'organization':
        return [all(FIRST_UUID, eraseEntities)];
      case 'projectId':
        return [once(() => locked((query) => query(eraseProjectEntities(organization, target.value))))];
      // Entities belong to projects, never to users.
      case 'userId':
      case undefined:
        return [];
    }
  });
}
