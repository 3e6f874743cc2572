import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { ListKeysRequest, ListKeysResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toApiKey } from '../../domain/answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listApiKeys } from '../../store/api-keys.ts';
import { organizationExists } from '../../store/organizations.ts';

export function listKeys({ db }: Context) {
  return rpc(['operator'], async (_request: ListKeysRequest, call): Promise<ListKeysResponse> => {
    const scope = callerScope(call);
    return db.transact(scope, async (query) => {
      if (!(await organizationExists(query, scope.organization))) throw noSuchOrganization();
      return { apiKeys: (await listApiKeys(query, scope.organization)).map(toApiKey) };
    });
  });
}
