import { callerScope } from '@crs/kit/data/scope';
import { parseTarget } from '../../domain/erasure-target.ts';
import { removeOrganization, removeProject, removeUser } from '../../store/erasures.ts';
import { operatorRpc } from './operator-rpc.ts';

export const finishErasure = operatorRpc<'finishErasure'>(callerScope, async (request, { organization, transact }) => {
  const target = parseTarget(request.target);
  await transact(async (query) => {
    if (target.kind === 'organization') await removeOrganization(query, organization);
    else if (target.kind === 'project') await query(removeProject(organization, target.projectId));
    else await query(removeUser(organization, target.email));
  });
  return {};
});
