import { toUser } from '../../answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { hashPassword } from '../../domain/password.ts';
import { requirePassword } from '../../domain/password-policy.ts';
import { requireText } from '../../domain/settings.ts';
import { accountOf } from '../../sign-in/passwords.ts';
import { forget, PASSWORDS_OF_ACCOUNT } from '../../sign-in/throttle.ts';
import { revokeConsentsOfUser } from '../../store/consents.ts';
import { findOidcProvider } from '../../store/oidc-providers.ts';
import { organizationExists } from '../../store/organizations.ts';
import { endSessions, findUser, setPassword } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

export const setUserPassword = operatorRpc<'setUserPassword'>(
  { action: 'user.set-password', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    // Hashing takes long, so it happens outside of the transaction.
    const found = await transact(async (query) => {
      const [user] = await query(findUser(organization, email));
      const [known] = await query(organizationExists(organization));
      return user && { user, organizationName: known?.name };
    });
    if (!found) throw noSuchUser();
    await requirePassword(request.password, [organization, found.organizationName, found.user.name, found.user.email]);
    const passwordHash = await hashPassword(request.password);
    return transact(async (query, audit) => {
      const { userId } = found.user;
      const [user] = await query(setPassword(organization, userId, passwordHash));
      if (!user) throw noSuchUser();
      await query(endSessions(organization, userId));
      const endedConnections = request.endConnections ? await revokeConsentsOfUser(query, organization, userId) : 0;
      // The user may have used up the tries with passwords that they no longer knew.
      await query(forget(PASSWORDS_OF_ACCOUNT, accountOf({ organization, email })));
      await audit('user.set-password', user.email);
      const [provider] = await query(findOidcProvider(organization));
      return { user: toUser(user), endedConnections, oidcIssuer: provider?.issuer ?? '' };
    });
  },
);
