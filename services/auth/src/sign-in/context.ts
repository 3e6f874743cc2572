import type { Database, Scope } from '@crs/kit/data/database';
import type { Logger } from '@crs/kit/process/log';
import type { AccessTokens } from '../domain/access-tokens.ts';

/** What the authorization server works with. */
export interface SignInContext {
  db: Database;
  log: Logger;
  accessTokens: AccessTokens;
  /** Public origin: the issuer, and where browsers and clients reach this server. */
  issuer: string;
  /** Seals what is stored, signs cookies and forms; the same on every replica. */
  secret: string;
  /** Shown to people who name no organization. */
  defaultOrganization: string | undefined;
  /** `host:port` of client metadata documents that may be anywhere. For tests. */
  cimdAllowHosts: readonly string[];
}

const STATEMENT_MS = 5_000;

/** For tables that stand above tenants. */
export function aboveTenants(): Scope {
  return { organization: '', deadline: Date.now() + STATEMENT_MS };
}

export function within(organization: string): Scope {
  return { organization, deadline: Date.now() + STATEMENT_MS };
}
