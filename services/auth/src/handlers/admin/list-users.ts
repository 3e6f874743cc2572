import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { ListUsersRequest, ListUsersResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toUser } from '../../domain/answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { organizationExists } from '../../store/organizations.ts';
import { listUsers as list } from '../../store/users.ts';

export function listUsers({ db }: Context) {
  return rpc(['operator'], async (_request: ListUsersRequest, call): Promise<ListUsersResponse> => {
    const scope = callerScope(call);
    return db.transact(scope, async (query) => {
      if (!(await organizationExists(query, scope.organization))) throw noSuchOrganization();
      return { users: (await list(query, scope.organization)).map(toUser) };
    });
  });
}
