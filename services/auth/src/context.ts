import type { Database } from '@crs/kit/data/database';
import type { Verifier } from '@crs/kit/rpc/identity';
import type { OperatorDirectory } from '@crs/kit/rpc/operators';
import type { Logger } from '@crs/kit/process/log';
import type { Secrets } from '@crs/kit/process/secrets';
import type { AccessTokens } from './keys/access-tokens.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { Encrypters } from './keys/encrypters.ts';
import type { Signer } from './keys/signer.ts';
import type { KeyKind } from './store/key-pairs.ts';

/** The dependencies of the handlers. */
export interface Context {
  db: Database;
  log: Logger;
  verify: Verifier;
  operators: OperatorDirectory;
  signer: Signer;
  accessTokens: AccessTokens;
  /** Public origin of the tool gateway. */
  toolsUrl: string;
  secrets: Secrets;
  encrypters: Encrypters;
  rings: Record<KeyKind, KeyRing>;
}
