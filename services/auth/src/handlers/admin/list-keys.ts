import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { ListKeysRequest, ListKeysResponse } from '@crs/proto/crs/auth/v1/admin';
import { toApiKey } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listApiKeys } from '../../store/api-keys.ts';
import { organizationExists } from '../../store/organizations.ts';

export function listKeys({ db }: Context) {
  return rpc(['operator'], async (_request: ListKeysRequest, call): Promise<ListKeysResponse> => {
    const scope = callerScope(call);
    return db.transact(scope, async (query) => {
      const [known] = await query(organizationExists(scope.organization));
      if (!known) throw noSuchOrganization();
      return { apiKeys: (await query(listApiKeys(scope.organization))).map(toApiKey) };
    });
  });
}
