import { rpc } from '@crs/kit/rpc/server';
import type { ListClientsRequest, ListClientsResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toClient } from '../../domain/answers.ts';
import { everyOrganization } from './every-organization.ts';
import { listClients as list } from '../../store/clients.ts';

export function listClients({ db }: Context) {
  return rpc(['operator'], async (_request: ListClientsRequest, call): Promise<ListClientsResponse> => {
    return db.transact(everyOrganization(call), async (query) => ({ clients: (await list(query)).map(toClient) }));
  });
}
