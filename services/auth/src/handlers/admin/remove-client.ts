import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RemoveClientRequest, RemoveClientResponse } from '@crs/proto/crs/auth/v1/admin';
import { toClient } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { requireText } from '../../domain/settings.ts';
import { everyOrganization } from '../../every-organization.ts';
import { operatorEntry } from '../../store/audit.ts';
import { deleteClient } from '../../store/clients.ts';

export function removeClient({ db }: Context) {
  return rpc(['operator'], async (request: RemoveClientRequest, call): Promise<RemoveClientResponse> => {
    const scope = everyOrganization(call);
    const clientId = requireText('client_id', request.clientId, 1, 100);
    return db.transact(scope, async (query) => {
      const [client] = await query(deleteClient(clientId));
      if (!client) throw notFound('There is no client with this id. "client list" shows those that exist.');
      await query(operatorEntry(call.identity, 'client.remove', clientId));
      return { client: toClient(client) };
    });
  });
}
