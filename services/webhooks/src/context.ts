import type { Encrypter } from '@crs/kit/data/encrypter';
import type { Database } from '@crs/kit/data/database';
import type { Logger } from '@crs/kit/process/log';
import type { ServiceClient } from '@crs/kit/rpc/client';
import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import type { FeedHeadsServiceService, FeedServiceService } from '@crs/proto/crs/feeds/v1/feeds';
import type { ProgramTokens } from './program-tokens.ts';

/** Dependencies of the handlers and the sender. */
export interface Context {
  db: Database;
  auth: ServiceClient<AuthServiceService>;
  feeds: ServiceClient<FeedServiceService>;
  heads: ServiceClient<FeedHeadsServiceService>;
  tokens: ProgramTokens;
  encrypter: Encrypter;
  log: Logger;
  /** The current time. Tests move it. */
  now: () => Date;
  /** Options of `guardedFetch` for receivers. */
  receivers: { allowHosts: readonly string[]; httpOnLoopback: true; proxyUrl: string | undefined };
}
