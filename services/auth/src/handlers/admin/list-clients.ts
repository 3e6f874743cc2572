import { rpc } from '@crs/kit/rpc/server';
import type { ListClientsRequest, ListClientsResponse } from '@crs/proto/crs/auth/v1/admin';
import { toClient } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listClients as list } from '../../store/clients.ts';

export function listClients({ db }: Context) {
  return rpc(['operator'], async (_request: ListClientsRequest, call): Promise<ListClientsResponse> => {
    const rows = await db.read(everyOrganization(call), list());
    return { clients: rows.map(toClient) };
  });
}
