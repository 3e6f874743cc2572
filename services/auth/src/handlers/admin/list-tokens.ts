import { toToken } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listConsents } from '../../store/consents.ts';
import { organizationExists } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listTokens = operatorRpc<'listTokens'>(
  { action: 'token.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
  async (_request, { organization, transact }) => {
    return transact(async (query) => {
      const [known] = await query(organizationExists(organization));
      if (!known) throw noSuchOrganization();
      return { tokens: (await query(listConsents(organization))).map(toToken) };
    });
  },
);
