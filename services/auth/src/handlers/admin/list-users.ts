import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { ListUsersRequest, ListUsersResponse } from '@crs/proto/crs/auth/v1/admin';
import { toUser } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { organizationExists } from '../../store/organizations.ts';
import { listUsers as list } from '../../store/users.ts';

export function listUsers({ db }: Context) {
  return rpc(['operator'], async (_request: ListUsersRequest, call): Promise<ListUsersResponse> => {
    const scope = callerScope(call);
    return db.transact(scope, async (query) => {
      const [known] = await query(organizationExists(scope.organization));
      if (!known) throw noSuchOrganization();
      return { users: (await query(list(scope.organization))).map(toUser) };
    });
  });
}
