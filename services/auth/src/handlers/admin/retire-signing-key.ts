import { invalid } from '@crs/kit/errors';
import { requireText } from '../../domain/settings.ts';
import { kindOfKey } from '../../keys/key-pairs.ts';
import { operatorRpc } from './operator-rpc.ts';

export const retireSigningKey = operatorRpc<'retireSigningKey'>(
  { action: 'signing-key.retire', roles: ['admin'], token: 'none', bound: false },
  async (request, { rings, transact }) => {
    const keyId = requireText('key_id', request.keyId, 1, 100);
    const kind = kindOfKey(keyId);
    if (!kind) throw invalid('key_id', 'must be the id of a signing key, which begins with tk_ or ck_');
    return transact(async (query, audit) => {
      await rings[kind].retire(query, keyId, request.force);
      await audit('signing-key.retire', keyId);
      return {};
    });
  },
);
