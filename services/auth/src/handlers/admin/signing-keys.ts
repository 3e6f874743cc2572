import { invalid } from '@crs/kit/errors';
import { SigningKeyKind as Kind, SigningKeyState as State } from '@crs/proto/crs/auth/v1/admin';
import { requireText } from '../../domain/settings.ts';
import { kindOfKey } from '../../keys/key-ring.ts';
import { listRetiredKeys, type KeyKind } from '../../store/key-pairs.ts';
import { inTransaction, type Operation, type OperatorRpcs } from './operator-rpcs.ts';

const KINDS: Partial<Record<Kind, KeyKind>> = {
  [Kind.SIGNING_KEY_KIND_TOKEN]: 'token_key',
  [Kind.SIGNING_KEY_KIND_CALLER]: 'caller_key',
};
const STATES = {
  announced: State.SIGNING_KEY_STATE_ANNOUNCED,
  signing: State.SIGNING_KEY_STATE_SIGNING,
  verifying: State.SIGNING_KEY_STATE_VERIFYING,
};
const MAX_RETIRED = 100;

export const signingKeys = {
  listSigningKeys: {
    access: { action: 'signing-key.list', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: false },
    handle: inTransaction(async (_request, { rings, query }) => {
      const live = [...(await rings.token_key.list(query)), ...(await rings.caller_key.list(query))];
      const retired = await query(listRetiredKeys(MAX_RETIRED));
      return {
        keys: [
          ...live.map(({ state, ...key }) => ({ ...key, kind: kindOf(key.keyId), state: STATES[state] })),
          ...retired.map(({ retiredAt, ...key }) => {
            return { ...key, kind: kindOf(key.keyId), state: State.SIGNING_KEY_STATE_RETIRED, retiresAt: retiredAt };
          }),
        ],
      };
    }),
  },
  rotateSigningKey: {
    access: { action: 'signing-key.rotate', roles: ['admin'], token: 'none', bound: false },
    async handle(request, operation) {
      const kind = KINDS[request.kind];
      if (!kind) throw invalid('kind', 'must be token or caller');
      return rotate(kind, operation);
    },
  },
  rotateTokenKey: {
    access: { action: 'signing-key.rotate', roles: ['admin'], token: 'none', bound: false },
    handle: (_request, operation) => rotate('token_key', operation),
  },
  retireSigningKey: {
    access: { action: 'signing-key.retire', roles: ['admin'], token: 'none', bound: false },
    handle: inTransaction(async (request, { rings, query, audit }) => {
      const keyId = requireText('key_id', request.keyId, 1, 100);
      const kind = kindOfKey(keyId);
      if (!kind) throw invalid('key_id', 'must be the id of a signing key, which begins with tk_ or ck_');
      await rings[kind].retire(query, keyId, request.force);
      await audit('signing-key.retire', keyId);
      return {};
    }),
  },
} satisfies Partial<OperatorRpcs>;

function kindOf(keyId: string): Kind {
  return kindOfKey(keyId) === 'token_key' ? Kind.SIGNING_KEY_KIND_TOKEN : Kind.SIGNING_KEY_KIND_CALLER;
}

function rotate(kind: KeyKind, { rings, transact }: Operation): Promise<{ keyId: string }> {
  return transact(async (query, audit) => {
    const keyId = await rings[kind].rotate(query);
    await audit('signing-key.rotate', keyId);
    return { keyId };
  });
}
