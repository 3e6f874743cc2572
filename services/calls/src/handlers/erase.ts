import { callerScope } from '@crs/kit/data/scope';
import { lockImports } from '@crs/kit/product/lock-imports';
import type { RecordContext } from '@crs/kit/product/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import { eraseOrganization, eraseProject, eraseUser } from '../store/erase.ts';

export function erase({ importDb }: RecordContext) {
  return rpc({ operator: true }, async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = callerScope(call);
    await importDb.transact(scope, async (query) => {
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
    return {};
  });
}
