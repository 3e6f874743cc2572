import { toUser } from '../../answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { deleteIdentities } from '../../store/identities.ts';
import { findUser } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const unlinkUser = operatorRpc<'unlinkUser'>(
  { action: 'user.unlink', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    return transact(async (query, audit) => {
      const [user] = await query(findUser(organization, email));
      if (!user) throw noSuchUser();
      await query(deleteIdentities(organization, user.userId));
      await audit('user.unlink', user.email);
      return { user: toUser(user) };
    });
  },
);
