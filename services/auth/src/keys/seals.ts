import { Seal } from '@crs/kit/data/seal';
import type { Secrets } from '@crs/kit/process/secrets';
import type { SealedTable } from '../store/sealed.ts';

/** The ciphers of stored values, by table. */
export type Seals = Record<SealedTable, Seal>;

export function createSeals(secrets: Secrets): Seals {
  return {
    token_keys: new Seal(secrets, 'token-keys'),
    caller_keys: new Seal(secrets, 'caller-keys'),
    oidc_payloads: new Seal(secrets, 'oidc-payloads'),
    clients: new Seal(secrets, 'client-secrets'),
    organizations: new Seal(secrets, 'oidc-client-secrets'),
  };
}
