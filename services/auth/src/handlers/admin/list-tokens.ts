import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { ListTokensRequest, ListTokensResponse } from '@crs/proto/crs/auth/v1/admin';
import { toToken } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listConsents } from '../../store/consents.ts';
import { organizationExists } from '../../store/organizations.ts';

export function listTokens({ db }: Context) {
  return rpc(['operator'], async (_request: ListTokensRequest, call): Promise<ListTokensResponse> => {
    const scope = callerScope(call);
    return db.transact(scope, async (query) => {
      const [known] = await query(organizationExists(scope.organization));
      if (!known) throw noSuchOrganization();
      return { tokens: (await query(listConsents(scope.organization))).map(toToken) };
    });
  });
}
