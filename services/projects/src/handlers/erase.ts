import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import { forgetPerson } from '../store/creations.ts';
import { lockImports } from '../store/imports.ts';
import { eraseProjects } from '../store/projects.ts';

export function erase({ importDb }: Context) {
  return rpc(['operator'], async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = callerScope(call);
    await importDb.transact(scope, async (query) => {
      await lockImports(query, scope.organization);
      switch (target?.$case) {
        case 'organization':
          return eraseProjects(query, scope.organization, null);
        case 'projectId':
          return eraseProjects(query, scope.organization, target.value);
        case 'userId':
          // Who created what and who has which role is auth's; answers to be given again name people, too.
          return forgetPerson(query, scope.organization, target.value);
        case undefined:
          return undefined;
      }
    });
    return {};
  });
}
