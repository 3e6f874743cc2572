import type { Database } from '@crs/kit/data/database';
import { credentialScope, directoryScope, workFor, type Scope, type Work } from '@crs/kit/data/scope';
import type { Logger } from '@crs/kit/process/log';
import type { Secrets } from '@crs/kit/process/secrets';
import type { ProviderHost } from '../config.ts';
import type { AccessTokens } from '../keys/access-tokens.ts';
import type { Seals } from '../keys/seals.ts';

export interface SignInContext {
  db: Database;
  log: Logger;
  accessTokens: AccessTokens;
  /** Public origin of this server: the issuer of its tokens, and the address that browsers and clients use. */
  issuer: string;
  seals: Seals;
  /** Sign cookies and forms. All replicas have the same secrets. */
  secrets: Secrets;
  /** The organization of people whose organization nothing else tells. */
  defaultOrganization: string | undefined;
  /** `host:port` of client metadata documents that may be at any port and address. For tests. */
  cimdAllowHosts: readonly string[];
  oidcAllowHosts: readonly ProviderHost[];
  proxyUrl: string | undefined;
}

const STATEMENT_MS = 5_000;

/** The time that sign-in gives a statement. */
export function statementTime(): Work {
  return workFor(STATEMENT_MS);
}

export function credentialScopeNow(organization: string): Scope {
  return credentialScope(organization, statementTime());
}

export function directoryScopeNow(): Scope {
  return directoryScope(statementTime());
}
