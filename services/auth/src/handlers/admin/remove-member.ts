import { notFound } from '@crs/kit/errors';
import { findMembership } from '../../roles/membership.ts';
import { removeRole } from '../../store/projects.ts';
import { operatorRpc } from './operator-rpc.ts';

export const removeMember = operatorRpc<'removeMember'>(
  { action: 'member.remove', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    await transact(async (query, audit) => {
      const { projectId, userId, role } = await findMembership(query, organization, request);
      if (!(await removeRole(query, organization, projectId, userId, role)))
        throw notFound(`The user is no ${role} of this project.`);
      await audit(`member.remove.${role}`, `${projectId} ${userId}`);
    });
    return {};
  },
);
