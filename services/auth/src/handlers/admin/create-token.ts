import { invalid, ServiceError } from '@crs/kit/errors';
import { randomBase62 } from '@crs/kit/api-key';
import { OAUTH_SCOPES } from '@crs/kit/rpc/scopes';
import { toToken } from '../../answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { insertConsent, OPERATORS_CLIENT } from '../../store/consents.ts';
import { findUser, lockEnabledUser } from '../../store/users.ts';
import { operatorRpc } from './operator-rpc.ts';

const DEFAULT_SECONDS = 30 * 86_400;
const MAX_SECONDS = 10 * 365 * 86_400;

export const createToken = operatorRpc<'createToken'>(
  { action: 'token.create', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { accessTokens, organization, transact }) => {
    const email = requireText('email', request.email, 3, 254);
    const unknown = request.scopes.find((each) => !(OAUTH_SCOPES as readonly string[]).includes(each));
    if (unknown !== undefined) throw invalid('scope', `must be of ${OAUTH_SCOPES.join(', ')}`);
    if (request.expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 3650 days');
    const all = request.scopes.length === 0;
    const scopes = OAUTH_SCOPES.filter((each) => all || request.scopes.includes(each));
    return transact(async (query, audit) => {
      const [user] = await query(findUser(organization, email));
      if (!user) throw noSuchUser();
      const [enabled] = await query(lockEnabledUser(organization, user.userId));
      if (!enabled) throw new ServiceError('failed_precondition', 'The user is disabled. Enable them first.', { field: 'email' });
      const grantId = `grant_${randomBase62(16)}`;
      const statement = insertConsent(organization, {
        grantId,
        userId: user.userId,
        client: OPERATORS_CLIENT,
        scopes,
        expiresInSeconds: request.expiresInSeconds || DEFAULT_SECONDS,
      });
      const [consent] = await query(statement);
      await audit('token.create', `${grantId} ${user.email}`);
      const token = { organization: organization, grantId, userId: user.userId, scopes };
      return { token: toToken(consent!), accessToken: await accessTokens.sign(query, token, consent!.expiresAt) };
    });
  },
);
