import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import type { Context } from '../context.ts';
import { eraseOrganization, eraseProject, eraseUser } from '../store/erase.ts';
import { lockImports } from '../store/import-calls.ts';

export function erase({ importDb }: Context) {
  return rpc(['operator'], async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = callerScope(call);
    await importDb.transact(scope, async (query) => {
      await lockImports(query, scope.organization);
      switch (target?.$case) {
        case 'organization':
          return eraseOrganization(query, scope.organization);
        case 'projectId':
          return eraseProject(query, scope.organization, target.value);
        case 'userId':
          return eraseUser(query, scope.organization, target.value);
        case undefined:
          return undefined;
      }
    });
    return {};
  });
}
