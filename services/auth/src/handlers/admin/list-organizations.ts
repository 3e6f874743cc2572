import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationsRequest, ListOrganizationsResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { everyOrganization } from './every-organization.ts';
import { toOrganization } from '../../domain/settings.ts';
import { listOrganizations as list } from '../../store/organizations.ts';

export function listOrganizations({ db }: Context) {
  return rpc(['operator'], async (_request: ListOrganizationsRequest, call): Promise<ListOrganizationsResponse> => {
    const rows = await db.transact(everyOrganization(call), list);
    return { organizations: rows.map(toOrganization) };
  });
}
