import { eraser, FIRST_UUID, inOrder, once, type Step } from '@crs/records/erase-steps';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { parseTarget } from '../../domain/erasure-target.ts';
import { removeOrganization, removeProject, removeProjects, removeUser, removeUsers } from '../../store/erasures.ts';
import { operatorRpc, type Operation } from './operator-rpc.ts';

/** Made at the first use, because metrics are set up after modules are loaded. */
let erase: ReturnType<typeof eraser> | undefined;

export const finishErasure = operatorRpc<'finishErasure'>(
  { action: 'erasure.finish', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true },
  async (request, operation) => {
    const { organization, rights, transact } = operation;
    const target = parseTarget(request.target);
    if (target.kind === 'organization') {
      requireTenantDeletion(rights);
      return { more: await (erase ??= eraser())(stepsOf(operation)) };
    }
    await transact(async (query) => {
      if (target.kind === 'project') await query(removeProject(organization, target.projectId));
      else await removeUser(query, organization, target.email);
    });
    return { more: false };
  },
);

/** Projects come first, as they name the users who created them. */
function stepsOf({ organization, transact }: Operation): Step[] {
  const all = (next: typeof removeProjects) =>
    inOrder(
      FIRST_UUID,
      (from) => next(organization, from),
      (statement) => transact((query) => query(statement)),
    );
  return [all(removeProjects), all(removeUsers), once(() => transact((query) => removeOrganization(query, organization)))];
}
