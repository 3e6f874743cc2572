import { toApiKey } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listApiKeys } from '../../store/api-keys.ts';
import { organizationExists } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listKeys = operatorRpc<'listKeys'>(
  { action: 'key.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
  async (_request, { organization, transact }) => {
    return transact(async (query) => {
      const [known] = await query(organizationExists(organization));
      if (!known) throw noSuchOrganization();
      return { apiKeys: (await query(listApiKeys(organization))).map(toApiKey) };
    });
  },
);
