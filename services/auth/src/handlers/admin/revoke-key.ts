import { notFound } from '@crs/kit/errors';
import { toApiKey } from '../../answers.ts';
import { requireText } from '../../domain/settings.ts';
import { revokeApiKey } from '../../store/api-keys.ts';
import { operatorRpc } from './operator-rpc.ts';

export const revokeKey = operatorRpc<'revokeKey'>(
  { action: 'key.revoke', roles: ['admin', 'manager'], token: 'one', bound: true },
  async (request, { organization, transact }) => {
    const keyId = requireText('key_id', request.keyId, 1, 100);
    return transact(async (query, audit) => {
      const [key] = await query(revokeApiKey(organization, keyId));
      if (!key) throw notFound('There is no key with this id in this organization. "key list" shows those that exist.');
      await audit('key.revoke', key.keyId);
      return { apiKey: toApiKey(key) };
    });
  },
);
