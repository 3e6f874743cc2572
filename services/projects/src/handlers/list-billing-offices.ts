import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { ListBillingOfficesRequest, ListBillingOfficesResponse } from '@crs/proto/crs/projects/v1/projects';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import { requireWriteSurface } from '../domain/write-surface.ts';
import { listBillingOffices as list, type BillingOfficeRow } from '../store/billing-offices.ts';

export function listBillingOffices({ db }: Context) {
  return rpc(['organization'], async (_request: ListBillingOfficesRequest, call): Promise<ListBillingOfficesResponse> => {
    requireWriteSurface(call);
    const scope = callerScope(call);
    return { billingOffices: await db.read<BillingOfficeRow>(scope, list(scope.organization)) };
  });
}
