import { notFound } from '@crs/kit/errors';
import { toToken } from '../../answers.ts';
import { requireText } from '../../domain/settings.ts';
import { revokeConsent } from '../../store/consents.ts';
import { operatorRpc } from './operator-rpc.ts';

export const revokeToken = operatorRpc<'revokeToken'>(
  { action: 'token.revoke', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const tokenId = requireText('token_id', request.tokenId, 1, 100);
    return transact(async (query, audit) => {
      const consent = await revokeConsent(query, organization, tokenId);
      if (!consent) throw notFound('There is no token with this id in this organization. "token list" shows those that exist.');
      await audit('token.revoke', consent.grantId);
      return { token: toToken(consent) };
    });
  },
);
