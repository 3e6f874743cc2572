import { callerScope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import type { RevokeKeyRequest, RevokeKeyResponse } from '@crs/proto/crs/auth/v1/admin';
import { toApiKey } from '../../answers.ts';
import type { Context } from '../../context.ts';
import { requireText } from '../../domain/settings.ts';
import { revokeApiKey } from '../../store/api-keys.ts';
import { operatorEntry } from '../../store/audit.ts';

export function revokeKey({ db }: Context) {
  return rpc(['operator'], async (request: RevokeKeyRequest, call): Promise<RevokeKeyResponse> => {
    const scope = callerScope(call);
    const keyId = requireText('key_id', request.keyId, 1, 100);
    return db.transact(scope, async (query) => {
      const [key] = await query(revokeApiKey(scope.organization, keyId));
      if (!key) throw notFound('There is no key with this id in this organization. "key list" shows those that exist.');
      await query(operatorEntry(call.identity, 'key.revoke', key.keyId));
      return { apiKey: toApiKey(key) };
    });
  });
}
