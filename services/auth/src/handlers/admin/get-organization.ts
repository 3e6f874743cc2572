import { toOrganization } from '../../answers.ts';
import { noSuchOrganization } from '../../domain/not-found.ts';
import { listOrganizations } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

export const getOrganization = operatorRpc<'getOrganization'>(
  { action: 'organization.get', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true },
  async (_request, { db, scope, organization, toolsUrl }) => {
    const [row] = await db.read(scope, listOrganizations([organization]));
    if (!row) throw noSuchOrganization();
    return { organization: toOrganization(row, toolsUrl) };
  },
);
