import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { BeginErasureRequest, BeginErasureResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { parseTarget, type Target } from '../../domain/erasure-target.ts';
import { operatorEntry } from '../../store/audit.ts';
import { markOrganization, markProject, markUser } from '../../store/erasures.ts';

export function beginErasure({ db }: Context) {
  return rpc(['operator'], async (request: BeginErasureRequest, call): Promise<BeginErasureResponse> => {
    const scope = callerScope(call);
    const target = parseTarget(request.target);
    return db.transact(scope, async (query) => {
      const id = await mark(query, scope.organization, target);
      if (id !== undefined) await query(operatorEntry(call.identity, `${target.kind}.delete`, id));
      return { found: id !== undefined, userId: target.kind === 'user' ? (id ?? '') : '' };
    });
  });
}

/** @returns the target's id, or undefined where it doesn't exist */
async function mark(query: Query, organization: string, target: Target): Promise<string | undefined> {
  if (target.kind === 'organization') return (await query(markOrganization(organization)))[0]?.organization;
  if (target.kind === 'user') return (await query(markUser(organization, target.email)))[0]?.userId;
  return (await markProject(query, organization, target.projectId)) ? target.projectId : undefined;
}
