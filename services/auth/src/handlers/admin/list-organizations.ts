import { toOrganization } from '../../answers.ts';
import { everyOrganization } from '../../every-organization.ts';
import { listOrganizations as list } from '../../store/organizations.ts';
import { operatorRpc } from './operator-rpc.ts';

export const listOrganizations = operatorRpc<'listOrganizations'>(everyOrganization, async (_request, { db, scope }) => {
  const rows = await db.read(scope, list());
  return { organizations: rows.map(toOrganization) };
});
