import type { Database } from '@crs/kit/data/database';
import type { Logger } from '@crs/kit/process/log';
import type { Seal } from '@crs/kit/data/seal';
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
