import { toClient } from '../../answers.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listClients as list } from '../../store/clients.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listClients = operatorRpc<'listClients'>(everyOrganization, async (_request, { db, scope }) => {
  const rows = await db.read(scope, list());
  return { clients: rows.map(toClient) };
});
