import type { Request, Response } from 'express';
import { digestOf, isScimToken } from '@crs/kit/api-key';
import type { Database } from '@crs/kit/data/database';
import { credentialScope, directoryScope, type Scope } from '@crs/kit/data/scope';
import { stateOf } from '@crs/kit/http/request';
import type { Logger } from '@crs/kit/process/log';
import { forwardedAddress } from '../sign-in/request.ts';
import type { SettingChanges } from '../domain/settings.ts';
import { auditEntry } from '../store/audit.ts';
import { findLiveScimToken, lookUpScimToken } from '../store/scim-tokens.ts';
import { unauthorized } from './scim-error.ts';

export interface ScimContext {
  db: Database;
  log: Logger;
  /** The public origin, with which the URLs of resources begin. */
  issuer: string;
}

/** A request of an organization's directory. */
export interface ScimCall {
  db: Database;
  scope: Scope;
  organization: string;
  /** URL of a resource, such as `https://tools.example.com/scim/v2/Users/...`. */
  locationOf: (path: string) => string;
  /** Returns the audit entry of a change. */
  entry: (action: string, target: string, changes?: SettingChanges) => ReturnType<typeof auditEntry>;
}

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Checks the token. The tool gateway has checked it, too, but up to a second ago, and only to charge its organization.
 * @throws ScimError 401
 */
export async function authenticate({ db, issuer }: ScimContext, request: Request, response: Response): Promise<ScimCall> {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (!isScimToken(token)) throw unauthorized();
  const { deadline, signal, logFields } = stateOf(response);
  const [owner] = await db.read(directoryScope({ deadline, signal }), lookUpScimToken(digestOf(token)));
  if (!owner) throw unauthorized();
  const { organization, tokenId } = owner;
  const scope = credentialScope(organization, { deadline, signal });
  const [live] = await db.read(scope, findLiveScimToken(organization, tokenId));
  if (!live) throw unauthorized();
  Object.assign(logFields, { organization, scim_token_id: tokenId });
  const address = forwardedAddress(request);
  return {
    db,
    scope,
    organization,
    locationOf: (path) => `${issuer}/scim/v2${path}`,
    entry: (action, target, changes) =>
      auditEntry(organization, tokenId, action, target, { address, ...(changes && { changes }) }),
  };
}
