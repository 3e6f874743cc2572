import type { Query } from '@crs/kit/data/database';
import { FIRST_UUID, inOrder, once } from '@crs/records/erase-steps';
import { eraseRpc } from '@crs/records/erasure';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import { eraseEntities, eraseProjectEntities } from '../store/entities.ts';

export function erase(context: RecordContext) {
  return eraseRpc('entities', context, (target, scope) => {
    const { organization } = scope;
    const locked = <T>(work: (query: Query) => Promise<T>) =>
      context.importDb.transact(scope, async (query) => {
        await query(lockImports('entities', organization));
        return work(query);
      });
    switch (target?.$case) {
      case 'organization':
        return [
          inOrder(
            FIRST_UUID,
            (from) => eraseEntities(organization, from),
            (statement) => locked((query) => query(statement)),
          ),
        ];
      case 'projectId':
        return [once(() => locked((query) => query(eraseProjectEntities(organization, target.value))))];
      // Entities belong to projects, never to users.
      case 'userId':
      case undefined:
        return [];
    }
  });
}
