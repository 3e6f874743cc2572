import type { Database } from '@crs/kit/data/database';
import { credentialScope, directoryScope, workFor, type Scope, type Work } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import type { Secrets } from '@crs/kit/process/secrets';
import type { ProviderHost } from '../config.ts';
import type { AccessTokens } from '../keys/access-tokens.ts';
import type { Encrypters } from '../keys/encrypters.ts';

export interface SignInContext {
  db: Database;
  log: Logger;
  accessTokens: AccessTokens;
  /** Lifetime of an access token in seconds. */
  accessTokenSeconds: number;
  /** The public origin of this server, and the issuer of its tokens. */
  issuer: string;
  encrypters: Encrypters;
  /** For cookies and forms; the same on all replicas. */
  secrets: Secrets;
  /** For users whose e-mail domain belongs to no organization. */
  defaultOrganization: string | undefined;
  /** `host:port` entries from which client metadata documents may come at any port and address. For tests. */
  cimdAllowHosts: readonly string[];
  oidcAllowHosts: readonly ProviderHost[];
  proxyUrl: string | undefined;
}

/** The time limit of one statement of sign-in. */
export function statementTime(): Work {
  return workFor(5_000);
}

export function credentialScopeNow(organization: string): Scope {
  return credentialScope(organization, statementTime());
}

export function directoryScopeNow(): Scope {
  return directoryScope(statementTime());
}
