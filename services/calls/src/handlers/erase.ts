import { eraseRpc } from '@crs/kit/product/erasure';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { eraseOrganization, eraseProject, eraseUser } from '../store/erase.ts';

export function erase(context: RecordContext) {
  return eraseRpc('calls', context, async (target, scope) => {
    await context.importDb.transact(scope, async (query) => {
      await query(lockImports('calls', scope.organization));
      switch (target?.$case) {
        case 'organization':
          return eraseOrganization(query, scope.organization);
        case 'projectId':
          return query(eraseProject(scope.organization, target.value));
        case 'userId':
          return eraseUser(query, scope.organization, target.value);
        case undefined:
          return undefined;
      }
    });
  });
}
