import { toUser } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { organizationExists } from '../../store/organizations.ts';
import { listUsers as list } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listUsers = operatorRpc<'listUsers'>(
  { action: 'user.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
  async (_request, { organization, transact }) => {
    return transact(async (query) => {
      const [known] = await query(organizationExists(organization));
      if (!known) throw noSuchOrganization();
      return { users: (await query(list(organization))).map(toUser) };
    });
  },
);
