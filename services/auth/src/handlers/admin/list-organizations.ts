import { rpc } from '@crs/kit/rpc/server';
import type { ListOrganizationsRequest, ListOrganizationsResponse } from '@crs/proto/crs/auth/v1/admin';
import { toOrganization } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listOrganizations as list } from '../../store/organizations.ts';

export function listOrganizations({ db }: Context) {
  return rpc(['operator'], async (_request: ListOrganizationsRequest, call): Promise<ListOrganizationsResponse> => {
    const rows = await db.read(everyOrganization(call), list());
    return { organizations: rows.map(toOrganization) };
  });
}
