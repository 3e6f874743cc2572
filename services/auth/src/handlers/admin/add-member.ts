import { findMembership } from '../../roles/membership.ts';
import { addRole } from '../../store/projects.ts';
import { operatorRpc } from './operator-rpc.ts';

export const addMember = operatorRpc<'addMember'>(
  { action: 'member.add', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    await transact(async (query, audit) => {
      const { projectId, userId, role } = await findMembership(query, organization, request);
      await addRole(query, organization, projectId, userId, role);
      await audit(`member.add.${role}`, `${projectId} ${userId}`);
    });
    return {};
  },
);
