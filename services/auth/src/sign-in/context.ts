import type { Database } from '@crs/kit/data/database';
import { workFor, type Work } from '@crs/kit/data/scope';
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

/** The time that sign-in gives a statement. */
export function statementTime(): Work {
  return workFor(STATEMENT_MS);
}
