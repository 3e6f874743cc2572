import type { Database } from '@crs/kit/data/database';
import type { Seal } from '@crs/kit/data/seal';
import type { Verifier } from '@crs/kit/rpc/identity';
import type { OperatorDirectory } from '@crs/kit/rpc/operators';
import type { Logger } from '@crs/kit/process/log';
import type { AccessTokens } from './keys/access-tokens.ts';
import type { Signer } from './keys/signer.ts';

/** The dependencies of the handlers. */
export interface Context {
  db: Database;
  log: Logger;
  verify: Verifier;
  operators: OperatorDirectory;
  signer: Signer;
  accessTokens: AccessTokens;
  /** Seals the secrets of clients that an operator has registered. */
  clientSecrets: Seal;
  /** Seals the secrets that organizations' OpenID providers gave us. */
  providerSecrets: Seal;
}
