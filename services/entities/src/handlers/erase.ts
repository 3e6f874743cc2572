import { callerScope } from '@crs/kit/data/scope';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import { eraseEntities } from '../store/entities.ts';

export function erase({ importDb }: RecordContext) {
  return rpc({ operator: true }, async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = callerScope(call);
    // Entities belong to projects, never to users.
    if (!target || target.$case === 'userId') return {};
    await importDb.transact(scope, async (query) => {
      await query(lockImports('entities', scope.organization));
      await query(eraseEntities(scope.organization, target.$case === 'projectId' ? target.value : null));
    });
    return {};
  });
}
