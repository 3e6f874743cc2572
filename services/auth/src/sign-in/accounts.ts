import type { Account as OidcAccount } from 'oidc-provider';
import { ORGANIZATION_ID, parseUuid } from '@crs/kit/text';
import { findLiveConsent } from '../store/consents.ts';
import { findLiveUser, type LiveUserRow } from '../store/users.ts';
import { parseAccountId } from './account-id.ts';
import { credentialScopeNow, type SignInContext } from './context.ts';

/** A user who may sign in; undefined if the user or the organization is disabled or doesn't exist. */
export async function loadUser({ db }: Pick<SignInContext, 'db'>, accountId: string): Promise<LiveUserRow | undefined> {
  const { organization, userId } = parseAccountId(accountId);
  if (!ORGANIZATION_ID.test(organization) || !parseUuid(userId)) return undefined;
  const [user] = await db.read(credentialScopeNow(organization), findLiveUser(organization, userId));
  return user;
}

/** oidc-provider calls this for codes and refresh tokens, too. They are valid as long as their consent is. */
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
