import { callerScope } from '@crs/kit/data/scope';
import type { RecordContext } from '@crs/kit/product/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { ListBillingOfficesRequest, ListBillingOfficesResponse } from '@crs/proto/crs/projects/v1/projects';
import { requireWriteSurface } from '../domain/write-surface.ts';
import { listBillingOffices as list } from '../store/billing-offices.ts';

export function listBillingOffices({ db }: RecordContext) {
  return rpc(['organization'], async (_request: ListBillingOfficesRequest, call): Promise<ListBillingOfficesResponse> => {
    requireWriteSurface(call);
    const scope = callerScope(call);
    return { billingOffices: await db.read(scope, list(scope.organization)) };
  });
}
