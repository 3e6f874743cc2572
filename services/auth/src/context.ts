import type { Database } from '@crs/kit/database';
import type { Logger } from '@crs/kit/log';
import type { Seal } from '@crs/kit/seal';
import type { AccessTokens } from './domain/access-tokens.ts';
import type { Signer } from './domain/signer.ts';

/** What handlers work with. */
export interface Context {
  db: Database;
  log: Logger;
  signer: Signer;
  accessTokens: AccessTokens;
  /** Seals the secrets of clients that an operator has registered. */
  clientSecrets: Seal;
  /** Seals our secrets at organizations' OpenID providers. */
  providerSecrets: Seal;
}
