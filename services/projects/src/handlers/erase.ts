import { eraseRpc } from '@crs/kit/product/erasure';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { forgetPerson } from '../store/creations.ts';
import { eraseProjects } from '../store/projects.ts';

export function erase(context: RecordContext) {
  return eraseRpc('projects', context, async (target, scope) => {
    await context.importDb.transact(scope, async (query) => {
      await query(lockImports('projects', scope.organization));
      // Auth erases a user's roles. Here, the stored answers to creations name users.
      if (target?.$case === 'userId') await query(forgetPerson(scope.organization, target.value));
      else if (target) await eraseProjects(query, scope.organization, target.$case === 'projectId' ? target.value : null);
    });
  });
}
