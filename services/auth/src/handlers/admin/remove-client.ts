import { notFound } from '@crs/kit/errors';
import { toClient } from '../../answers.ts';
import { requireText } from '../../domain/settings.ts';
import { deleteClient } from '../../store/clients.ts';
import { operatorRpc } from './operator-rpc.ts';

export const removeClient = operatorRpc<'removeClient'>(
  { action: 'client.remove', roles: ['admin', 'manager'], token: 'none', bound: false },
  async (request, { transact }) => {
    const clientId = requireText('client_id', request.clientId, 1, 100);
    return transact(async (query, audit) => {
      const [client] = await query(deleteClient(clientId));
      if (!client) throw notFound('There is no client with this id. "client list" shows those that exist.');
      await audit('client.remove', clientId);
      return { client: toClient(client) };
    });
  },
);
