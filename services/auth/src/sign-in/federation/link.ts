import type { Query } from '@crs/kit/data/database';
import { fold, isEmail, unstorable } from '@crs/kit/text';
import { auditEntry } from '../../store/audit.ts';
import { findLinkedUser, insertIdentity } from '../../store/identities.ts';
import { findUser } from '../../store/users.ts';

/** Why a person whom the provider has signed in can't act as a user of the organization; for the audit trail. */
export type NoUser = 'unverified e-mail' | 'foreign domain' | 'unknown e-mail' | 'linked to another account' | 'disabled user';

export type Linked =
  { kind: 'user'; userId: string; email: string; sessionVersion: number } | { kind: 'refused'; reason: NoUser };

export interface Account {
  organization: string;
  issuer: string;
  subject: string;
}

/** The user of an account at the provider; undefined if the account has never signed in here. */
export async function findLinked(query: Query, { organization, issuer, subject }: Account): Promise<Linked | undefined> {
  const [user] = await query(findLinkedUser(organization, issuer, subject));
  if (!user) return undefined;
  return user.disabledAt ? refused('disabled user') : userOf(user);
}

/** The e-mail address that can link an account to a user, or the reason why it can't. */
export function linkableEmail(
  { address, isVerified }: { address: unknown; isVerified: unknown },
  domains: readonly string[],
): string | { kind: 'refused'; reason: NoUser } {
  if (typeof address !== 'string' || !isEmail(address) || unstorable(address) || isVerified !== true)
    return refused('unverified e-mail');
  return domains.includes(fold(address).split('@')[1]!) ? address : refused('foreign domain');
}

/** Links an account to the user with that e-mail. The link stays when the e-mail changes. */
export async function linkByEmail(query: Query, account: Account, email: string): Promise<Linked> {
  const { organization, issuer, subject } = account;
  const [user] = await query(findUser(organization, email));
  if (!user) return refused('unknown e-mail');
  if (user.disabledAt) return refused('disabled user');
  const [inserted] = await query(insertIdentity(organization, { issuer, subject, userId: user.userId }));
  if (inserted) {
    await query(auditEntry(organization, user.email, 'identity.link', `${subject} at ${issuer}`));
    return userOf(user);
  }
  // A sign-in of the same account at the same time may have made the link.
  const linked = await findLinked(query, account);
  return linked?.kind === 'user' && linked.userId === user.userId ? linked : refused('linked to another account');
}

function userOf({ userId, email, sessionVersion }: Omit<Extract<Linked, { kind: 'user' }>, 'kind'>): Linked {
  return { kind: 'user', userId, email, sessionVersion };
}

function refused(reason: NoUser): { kind: 'refused'; reason: NoUser } {
  return { kind: 'refused', reason };
}
