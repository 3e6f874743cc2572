import type { Query } from '@crs/kit/data/database';
import { requireTenantDeletion } from '@crs/kit/rpc/operators';
import { parseTarget, type Target } from '../../domain/erasure-target.ts';
import { markOrganization, markProject, markUser } from '../../store/erasures.ts';
import { untilViewsFollow } from '../../view-settings.ts';
import { operatorRpc } from './operator-rpc.ts';

export const beginErasure = operatorRpc<'beginErasure'>(
  { action: 'erasure.begin', roles: ['admin', 'manager', 'importer'], token: 'one', bound: true },
  async (request, { organization, rights, transact }) => {
    const target = parseTarget(request.target);
    if (target.kind === 'organization') requireTenantDeletion(rights);
    const begun = await transact(async (query, audit) => {
      const id = await mark(query, organization, target);
      if (id !== undefined) await audit(`${target.kind}.delete`, id);
      return { found: id !== undefined, userId: target.kind === 'user' ? (id ?? '') : '' };
    });
    // An organization of the same id may come next, with settings of its own.
    if (begun.found && target.kind === 'organization') await untilViewsFollow();
    return begun;
  },
);

/** @returns the target's id, or undefined where it doesn't exist */
async function mark(query: Query, organization: string, target: Target): Promise<string | undefined> {
  if (target.kind === 'organization') return (await query(markOrganization(organization)))[0]?.organization;
  if (target.kind === 'user') return (await query(markUser(organization, target.email)))[0]?.userId;
  return (await markProject(query, organization, target.projectId)) ? target.projectId : undefined;
}
