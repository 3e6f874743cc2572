import type { Request } from 'express';
import { randomBase62 } from '@crs/kit/api-key';
import { OAUTH_SCOPES, type OAuthScope } from '@crs/kit/rpc/scopes';
import { lengthOf, unstorable } from '@crs/kit/text';
import { auditEntry } from '../store/audit.ts';
import { insertConsent, listConsentsOfUser } from '../store/consents.ts';
import { findOrganization } from '../store/organizations.ts';
import { lockEnabledUser, type LiveUserRow } from '../store/users.ts';
import { credentialScopeNow, type SignInContext } from './context.ts';
import { expired, PageError } from './page-error.ts';
import { field, fields } from './request.ts';

export const MAX_LABEL = 100;
export const MAX_DAYS = 90;
export const DEFAULT_DAYS = 30;
const MAX_LIVE = 20;
const DAY_SECONDS = 86_400;

/** A token to make, as the user asked for it. */
export interface TokenRequest {
  label: string;
  scopes: OAuthScope[];
  /** As typed. */
  days: string;
}

export interface NewToken {
  label: string;
  accessToken: string;
  expiresAt: Date;
}

export function tokenRequestOf(request: Request): TokenRequest {
  const requested = fields(request, 'scope');
  return {
    label: field(request, 'label')
      .replace(/[\p{C}\p{Z}]+/gu, ' ')
      .trim(),
    scopes: OAUTH_SCOPES.filter((scope) => requested.includes(scope)),
    days: field(request, 'days').trim(),
  };
}

/** What is wrong with the request, for its user; undefined if nothing is. */
function problemOf({ label, scopes, days }: TokenRequest): string | undefined {
  if (label === '' || lengthOf(label) > MAX_LABEL || unstorable(label) !== undefined)
    return `Enter a name for the token, of 1 to ${MAX_LABEL} characters.`;
  if (scopes.length === 0) return 'Choose at least one kind of data that the token may read.';
  if (!/^\d{1,2}$/.test(days) || Number(days) < 1 || Number(days) > MAX_DAYS)
    return `Enter a number of days from 1 to ${MAX_DAYS}.`;
  return undefined;
}

/**
 * Makes an access token by which a user's own script reads on the user's behalf.
 * @returns the token, which is stored nowhere, or what the user has to change
 * @throws PageError if the organization doesn't let its users make tokens, or the user's session has ended
 */
export async function makeOwnToken(
  { db, accessTokens }: SignInContext,
  visitor: { organization: string; userId: string; sessionVersion: number; user: LiveUserRow },
  request: TokenRequest,
): Promise<NewToken | { error: string }> {
  const error = problemOf(request);
  if (error !== undefined) return { error };
  const { organization, userId, sessionVersion, user } = visitor;
  const { label, scopes } = request;
  return db.transact(credentialScopeNow(organization), async (query) => {
    // Locks the organization, so that no other token is made between the count and the insert, and no token outlives the setting.
    const [settings] = await query(findOrganization(organization));
    if (!settings?.ownTokens) throw notAllowed();
    const [enabled] = await query(lockEnabledUser(organization, userId));
    if (enabled?.sessionVersion !== sessionVersion) throw expired();
    const live = (await query(listConsentsOfUser(organization, userId))).filter(({ kind }) => kind === 'own');
    if (live.length >= MAX_LIVE) return { error: `You have ${MAX_LIVE} tokens, which is the most. Revoke one first.` };
    const grantId = `grant_${randomBase62(16)}`;
    const grant = { kind: 'own', clientId: null, client: label, grantId, userId, scopes } as const;
    const [inserted] = await query(
      insertConsent(organization, { ...grant, expiresInSeconds: Number(request.days) * DAY_SECONDS }),
    );
    await query(auditEntry(organization, user.email, 'token.create', `${grantId} ${label}`));
    const { expiresAt } = inserted!;
    const accessToken = await accessTokens.sign(query, { organization, grantId, userId, scopes }, expiresAt);
    return { label, accessToken, expiresAt };
  });
}

function notAllowed(): PageError {
  const message = 'Your organization doesn’t let its users make tokens. Ask your administrator for a token.';
  return new PageError(403, 'You can’t make a token', message);
}
