import { randomBase62 } from '@crs/kit/product/api-key';
import { invalid, ServiceError } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { CreateTokenRequest, CreateTokenResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { SCOPES } from '../../domain/access-tokens.ts';
import { toToken } from '../../domain/answers.ts';
import { noSuchUser } from '../../domain/not-found.ts';
import { requireText } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { insertGrant } from '../../store/grants.ts';
import { findUser } from '../../store/users.ts';

const DEFAULT_SECONDS = 30 * 86_400;
const MAX_SECONDS = 10 * 365 * 86_400;

export function createToken({ db, accessTokens }: Context) {
  return rpc(['operator'], async (request: CreateTokenRequest, call): Promise<CreateTokenResponse> => {
    const scope = callerScope(call);
    const email = requireText('email', request.email, 3, 254);
    const unknown = request.scopes.find((each) => !(SCOPES as readonly string[]).includes(each));
    if (unknown !== undefined) throw invalid('scope', `must be of ${SCOPES.join(', ')}`);
    if (request.expiresInSeconds > MAX_SECONDS) throw invalid('expires_in', 'must be at most 3650 days');
    const scopes = request.scopes.length === 0 ? [...SCOPES] : SCOPES.filter((each) => request.scopes.includes(each));
    return db.transact(scope, async (query) => {
      const user = await findUser(query, scope.organization, email);
      if (!user) throw noSuchUser();
      if (user.disabledAt)
        throw new ServiceError('failed_precondition', 'The user is disabled. Enable them first.', { field: 'email' });
      const grant = await insertGrant(query, scope.organization, {
        grantId: `grant_${randomBase62(16)}`,
        userId: user.userId,
        client: 'crs token create',
        scopes,
        expiresInSeconds: request.expiresInSeconds || DEFAULT_SECONDS,
      });
      await audit(query, call.identity, 'token.create', `${grant.grantId} ${user.email}`);
      const token = { organization: scope.organization, grantId: grant.grantId, userId: user.userId, scopes };
      return { token: toToken(grant), accessToken: await accessTokens.sign(token, grant.expiresAt) };
    });
  });
}
