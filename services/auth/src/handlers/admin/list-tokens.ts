import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { ListTokensRequest, ListTokensResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toToken } from '../../domain/answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listGrants } from '../../store/grants.ts';
import { organizationExists } from '../../store/organizations.ts';

export function listTokens({ db }: Context) {
  return rpc(['operator'], async (_request: ListTokensRequest, call): Promise<ListTokensResponse> => {
    const scope = callerScope(call);
    return db.transact(scope, async (query) => {
      if (!(await organizationExists(query, scope.organization))) throw noSuchOrganization();
      return { tokens: (await listGrants(query, scope.organization)).map(toToken) };
    });
  });
}
