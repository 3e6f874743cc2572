import type { Account as OidcAccount } from 'oidc-provider';
import { ORGANIZATION_ID, parseUuid } from '@crs/kit/text';
import { findLiveConsent } from '../store/consents.ts';
import { findLiveUser, type LiveUserRow } from '../store/users.ts';
import { credentialScopeNow, type SignInContext } from './context.ts';

/** Identifies a user to oidc-provider. Includes the organization, because user ids are unique only within one. */
export interface Account {
  organization: string;
  userId: string;
  /** The user's session version at the sign-in. A later version ends the browser session. */
  sessionVersion: number;
}

export function toAccountId({ organization, userId, sessionVersion }: Account): string {
  return `${organization}/${userId}/${sessionVersion}`;
}

export function parseAccountId(accountId: string): Account {
  const [organization = '', userId = '', sessionVersion] = accountId.split('/');
  return { organization, userId, sessionVersion: Number(sessionVersion) };
}

/**
 * The user of an account id. Undefined if the id is malformed, the user or the organization is disabled or unknown, or the user's sessions
 * have been ended since the sign-in.
 */
export async function loadUser({ db }: Pick<SignInContext, 'db'>, accountId: string): Promise<LiveUserRow | undefined> {
  const { organization, userId, sessionVersion } = parseAccountId(accountId);
  if (!ORGANIZATION_ID.test(organization) || !parseUuid(userId)) return undefined;
  const [user] = await db.read(credentialScopeNow(organization), findLiveUser(organization, userId));
  return user?.sessionVersion === sessionVersion ? user : undefined;
}

/**
 * Tells oidc-provider whether an account exists. A code or a refresh token needs a live consent, which implies a live user and organization.
 * A browser session has no consent yet, so there the user and the session must be live.
 */
export async function findAccount(
  context: Pick<SignInContext, 'db'>,
  accountId: string,
  token: { grantId?: string | undefined } | undefined,
): Promise<OidcAccount | undefined> {
  if (token?.grantId !== undefined) {
    const { organization, userId } = parseAccountId(accountId);
    const [consent] = await context.db.read(credentialScopeNow(organization), findLiveConsent(organization, token.grantId));
    if (consent?.userId !== userId) return undefined;
  } else if (!(await loadUser(context, accountId))) return undefined;
  return { accountId, claims: () => ({ sub: accountId }) };
}
