import { Encrypter } from '@crs/kit/data/encrypter';
import type { Secrets } from '@crs/kit/process/secrets';
import type { EncryptedTable } from '../store/encrypted-values.ts';

/** The ciphers of stored values, by table. */
export type Encrypters = Record<EncryptedTable, Encrypter>;

export function createEncrypters(secrets: Secrets): Encrypters {
  return {
    token_keys: new Encrypter(secrets, 'token-keys'),
    caller_keys: new Encrypter(secrets, 'caller-keys'),
    oidc_payloads: new Encrypter(secrets, 'oidc-payloads'),
    clients: new Encrypter(secrets, 'client-secrets'),
    organizations: new Encrypter(secrets, 'oidc-client-secrets'),
  };
}
