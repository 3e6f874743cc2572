import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import type { AddMemberRequest, AddMemberResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { findMembership } from '../../roles/membership.ts';
import { operatorEntry } from '../../store/audit.ts';
import { addRole } from '../../store/projects.ts';

export function addMember({ db }: Context) {
  return rpc(['operator'], async (request: AddMemberRequest, call): Promise<AddMemberResponse> => {
    const scope = callerScope(call);
    await db.transact(scope, async (query) => {
      const { projectId, userId, role } = await findMembership(query, scope.organization, request);
      await addRole(query, scope.organization, projectId, userId, role);
      await query(operatorEntry(call.identity, `member.add.${role}`, `${projectId} ${userId}`));
    });
    return {};
  });
}
