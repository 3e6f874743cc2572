import { toClient } from '../../answers.ts';
import { listClients as list } from '../../store/clients.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listClients = operatorRpc<'listClients'>(
  { action: 'client.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'none', bound: false },
  async (_request, { db, scope }) => {
    const rows = await db.read(scope, list());
    return { clients: rows.map(toClient) };
  },
);
