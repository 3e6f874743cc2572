import { toUser } from '../../answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { setUserDisabled as set } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const setUserDisabled = operatorRpc<'setUserDisabled'>(
  { action: 'user.disable', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    return transact(async (query, audit) => {
      const [user] = await query(set(organization, email, request.disabled));
      if (!user) throw noSuchUser();
      await audit(request.disabled ? 'user.disable' : 'user.enable', user.email);
      return { user: toUser(user) };
    });
  },
);
