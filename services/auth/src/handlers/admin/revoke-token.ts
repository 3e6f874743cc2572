import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RevokeTokenRequest, RevokeTokenResponse } from '@crs/proto/crs/auth/v1/admin';
import { toToken } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { requireText } from '../../domain/settings.ts';
import { operatorEntry } from '../../store/audit.ts';
import { revokeConsent } from '../../store/consents.ts';

export function revokeToken({ db }: Context) {
  return rpc(['operator'], async (request: RevokeTokenRequest, call): Promise<RevokeTokenResponse> => {
    const scope = callerScope(call);
    const tokenId = requireText('token_id', request.tokenId, 1, 100);
    return db.transact(scope, async (query) => {
      const consent = await revokeConsent(query, scope.organization, tokenId);
      if (!consent) throw notFound('There is no token with this id in this organization. "token list" shows those that exist.');
      await query(operatorEntry(call.identity, 'token.revoke', consent.grantId));
      return { token: toToken(consent) };
    });
  });
}
