import type { Database } from '@crs/kit/database';
import type { Logger } from '@crs/kit/log';
import type { AccessTokens } from './domain/access-tokens.ts';
import type { Signer } from './domain/signer.ts';

/** What handlers work with. */
export interface Context {
  db: Database;
  log: Logger;
  signer: Signer;
  accessTokens: AccessTokens;
}
