import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { toOrganization } from '../../answers.ts';
import { listOrganizations as list } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listOrganizations = operatorRpc<'listOrganizations'>(
  { action: 'organization.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'none', bound: true },
  async (_request, { db, scope, toolsUrl, rights: { organizations } }) => {
    const rows = await db.read(scope, list(organizations.length > 0 ? organizations : EVERY_ORGANIZATION));
    return { organizations: rows.map((row) => toOrganization(row, toolsUrl)) };
  },
);
