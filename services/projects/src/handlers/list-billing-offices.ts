import { callerScope, type Scope } from '@crs/kit/data/scope';
import type { RecordContext } from '@crs/records/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { ListBillingOfficesRequest, ListBillingOfficesResponse } from '@crs/proto/crs/projects/v1/projects';
import { listBillingOffices as list } from '../store/billing-offices.ts';

export function listBillingOffices({ db }: RecordContext, pruneOnRead: (scope: Scope) => Promise<void>) {
  return rpc(
    { organization: { rights: ['read'], writeSurface: true } },
    async (_request: ListBillingOfficesRequest, call): Promise<ListBillingOfficesResponse> => {
      const scope = callerScope(call);
      await pruneOnRead(scope);
      return { billingOffices: await db.read(scope, list(scope.organization)) };
    },
  );
}
