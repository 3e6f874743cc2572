import { toUser } from '../../answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { revokeConsentsOfUser } from '../../store/consents.ts';
import { endSessions, findUser } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const endUserSessions = operatorRpc<'endUserSessions'>(
  { action: 'user.end-sessions', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    return transact(async (query, audit) => {
      const [user] = await query(findUser(organization, email));
      if (!user) throw noSuchUser();
      await query(endSessions(organization, user.userId));
      const endedConnections = await revokeConsentsOfUser(query, organization, user.userId);
      await audit('user.end-sessions', user.email);
      return { user: toUser(user), endedConnections };
    });
  },
);
