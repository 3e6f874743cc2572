import { callerScope } from '@crs/kit/data/scope';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import { forgetPerson } from '../store/creations.ts';
import { eraseProjects } from '../store/projects.ts';

export function erase({ importDb }: RecordContext) {
  return rpc({ operator: true }, async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = callerScope(call);
    await importDb.transact(scope, async (query) => {
      await query(lockImports('projects', scope.organization));
      // Auth erases a user's roles. Here, the stored answers to creations name users.
      if (target?.$case === 'userId') await query(forgetPerson(scope.organization, target.value));
      else if (target) await eraseProjects(query, scope.organization, target.$case === 'projectId' ? target.value : null);
    });
    return {};
  });
}
