import { eraseRpc } from '@crs/kit/product/erasure';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { eraseEntities } from '../store/entities.ts';

export function erase(context: RecordContext) {
  return eraseRpc('entities', context, async (target, scope) => {
    // Entities belong to projects, never to users.
    if (!target || target.$case === 'userId') return;
    await context.importDb.transact(scope, async (query) => {
      await query(lockImports('entities', scope.organization));
      await query(eraseEntities(scope.organization, target.$case === 'projectId' ? target.value : null));
    });
  });
}
