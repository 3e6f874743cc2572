import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RemoveMemberRequest, RemoveMemberResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { findMembership } from '../../roles/membership.ts';
import { operatorEntry } from '../../store/audit.ts';
import { removeRole } from '../../store/projects.ts';

export function removeMember({ db }: Context) {
  return rpc(['operator'], async (request: RemoveMemberRequest, call): Promise<RemoveMemberResponse> => {
    const scope = callerScope(call);
    await db.transact(scope, async (query) => {
      const { projectId, userId, role } = await findMembership(query, scope.organization, request);
      if (!(await removeRole(query, scope.organization, projectId, userId, role)))
        throw notFound(`The user is no ${role} of this project.`);
      await query(operatorEntry(call.identity, `member.remove.${role}`, `${projectId} ${userId}`));
    });
    return {};
  });
}
