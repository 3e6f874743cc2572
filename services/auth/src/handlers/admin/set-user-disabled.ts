import { toUser } from '../../answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { revokeConsentsOfUser } from '../../store/consents.ts';
import { endSessions, findUser, setUserDisabled as set } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const setUserDisabled = operatorRpc<'setUserDisabled'>(
  { action: 'user.disable', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    return transact(async (query, audit) => {
      const [before] = await query(findUser(organization, email));
      const [user] = await query(set(organization, email, request.disabled));
      if (!before || !user) throw noSuchUser();
      // The release before ends nothing when it disables a user, so enabling the user ends it.
      if (request.disabled || before.disabledAt) {
        await query(endSessions(organization, user.userId));
        await revokeConsentsOfUser(query, organization, user.userId);
      }
      await audit(request.disabled ? 'user.disable' : 'user.enable', user.email);
      return { user: toUser(user) };
    });
  },
);
