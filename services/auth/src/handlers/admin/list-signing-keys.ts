import { SigningKeyKind as Kind, SigningKeyState as State } from '@crs/proto/crs/auth/v1/admin';
import { kindOfKey } from '../../keys/key-pairs.ts';
import { listRetiredKeys } from '../../store/key-pairs.ts';
import { operatorRpc } from './operator-rpc.ts';

const STATES = {
  announced: State.SIGNING_KEY_STATE_ANNOUNCED,
  signing: State.SIGNING_KEY_STATE_SIGNING,
  verifying: State.SIGNING_KEY_STATE_VERIFYING,
};
const MAX_RETIRED = 100;

export const listSigningKeys = operatorRpc<'listSigningKeys'>(
  { action: 'signing-key.list', roles: ['admin', 'viewer', 'auditor'], token: 'none', bound: false },
  async (_request, { rings, transact }) =>
    transact(async (query) => {
      const live = [...(await rings.token_key.list(query)), ...(await rings.caller_key.list(query))];
      const retired = await query(listRetiredKeys(MAX_RETIRED));
      return {
        keys: [
          ...live.map(({ state, ...key }) => ({ ...key, kind: kindOf(key.keyId), state: STATES[state] })),
          ...retired.map(({ keyId, signFrom, retiredAt }) => {
            return { keyId, kind: kindOf(keyId), state: State.SIGNING_KEY_STATE_RETIRED, signFrom, retiresAt: retiredAt };
          }),
        ],
      };
    }),
);

function kindOf(keyId: string): Kind {
  return kindOfKey(keyId) === 'token_key' ? Kind.SIGNING_KEY_KIND_TOKEN : Kind.SIGNING_KEY_KIND_CALLER;
}
