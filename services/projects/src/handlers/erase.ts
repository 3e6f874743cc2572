import { rpc } from '@crs/kit/grpc-server';
import { operatorScope } from '@crs/kit/operator-scope';
import type { EraseRequest, EraseResponse } from '@crs/proto/crs/erasures/v1/erasures';
import type { RecordContext as Context } from '@crs/kit/record-service';
import { lockImports } from '../store/imports.ts';
import { eraseProjects } from '../store/projects.ts';

export function erase({ importDb }: Context) {
  return rpc(['operator'], async ({ target }: EraseRequest, call): Promise<EraseResponse> => {
    const scope = operatorScope(call);
    // Nothing here is one user's own: who created what and who is a member of what is auth's.
    if (!target || target.$case === 'userId') return {};
    await importDb.transact(scope, async (query) => {
      await lockImports(query, scope.organization);
      await eraseProjects(query, scope.organization, target.$case === 'projectId' ? target.value : null);
    });
    return {};
  });
}
