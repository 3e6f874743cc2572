import { invalid } from '@crs/kit/errors';
import { SigningKeyKind as Kind } from '@crs/proto/crs/auth/v1/admin';
import type { KeyKind } from '../../store/key-pairs.ts';
import { operatorRpc } from './operator-rpc.ts';

const KINDS: Partial<Record<Kind, KeyKind>> = {
  [Kind.SIGNING_KEY_KIND_TOKEN]: 'token_key',
  [Kind.SIGNING_KEY_KIND_CALLER]: 'caller_key',
};

export const rotateSigningKey = operatorRpc<'rotateSigningKey'>(
  { action: 'signing-key.rotate', roles: ['admin'], token: 'none', bound: false },
  async (request, { rings, transact }) => {
    const kind = KINDS[request.kind];
    if (!kind) throw invalid('kind', 'must be token or caller');
    return transact(async (query, audit) => {
      const keyId = await rings[kind].rotate(query);
      await audit('signing-key.rotate', keyId);
      return { keyId };
    });
  },
);
