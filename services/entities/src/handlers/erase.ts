import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import { eraseEntities, lockImports } from '../store/entities.ts';

export function erase({ importDb }: Context) {
  return rpc(['operator'], async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = callerScope(call);
    // No entity is a user's own.
    if (!target || target.$case === 'userId') return {};
    await importDb.transact(scope, async (query) => {
      await lockImports(query, scope.organization);
      await eraseEntities(query, scope.organization, target.$case === 'projectId' ? target.value : null);
    });
    return {};
  });
}
