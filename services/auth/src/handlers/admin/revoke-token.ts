import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { RevokeTokenRequest, RevokeTokenResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toToken } from '../../domain/answers.ts';
import { requireText } from '../../domain/settings.ts';
import { audit } from '../../store/audit.ts';
import { revokeGrant } from '../../store/grants.ts';

export function revokeToken({ db }: Context) {
  return rpc(['operator'], async (request: RevokeTokenRequest, call): Promise<RevokeTokenResponse> => {
    const scope = callerScope(call);
    const tokenId = requireText('token_id', request.tokenId, 1, 100);
    return db.transact(scope, async (query) => {
      const grant = await revokeGrant(query, scope.organization, tokenId);
      if (!grant) throw notFound('There is no token with this id in this organization. "token list" shows those that exist.');
      await audit(query, call.identity, 'token.revoke', grant.grantId);
      return { token: toToken(grant) };
    });
  });
}
