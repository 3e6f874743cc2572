import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { callerScope } from '@crs/kit/data/scope';
import type { RevokeKeyRequest, RevokeKeyResponse } from '@crs/proto/crs/auth/v1/admin';
import type { Context } from '../../context.ts';
import { toApiKey } from '../../domain/answers.ts';
import { requireText } from '../../domain/settings.ts';
import { revokeApiKey } from '../../store/api-keys.ts';
import { audit } from '../../store/audit.ts';

export function revokeKey({ db }: Context) {
  return rpc(['operator'], async (request: RevokeKeyRequest, call): Promise<RevokeKeyResponse> => {
    const scope = callerScope(call);
    const keyId = requireText('key_id', request.keyId, 1, 100);
    return db.transact(scope, async (query) => {
      const key = await revokeApiKey(query, scope.organization, keyId);
      if (!key) throw notFound('There is no key with this id in this organization. "key list" shows those that exist.');
      await audit(query, call.identity, 'key.revoke', key.keyId);
      return { apiKey: toApiKey(key) };
    });
  });
}
