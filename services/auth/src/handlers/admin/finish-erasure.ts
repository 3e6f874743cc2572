import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { parseTarget } from '../../domain/erasure-target.ts';
import { removeOrganization, removeProject, removeUser } from '../../store/erasures.ts';
import { operatorRpc } from './operator-rpc.ts';

export const finishErasure = operatorRpc<'finishErasure'>(
  { action: 'erasure.finish', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true },
  async (request, { organization, rights, transact }) => {
    const target = parseTarget(request.target);
    if (target.kind === 'organization') requireTenantDeletion(rights);
    await transact(async (query) => {
      if (target.kind === 'organization') await removeOrganization(query, organization);
      else if (target.kind === 'project') await query(removeProject(organization, target.projectId));
      else await removeUser(query, organization, target.email);
    });
    return {};
  },
);
