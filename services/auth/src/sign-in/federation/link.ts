import type { Query } from '@crs/kit/data/database';
import { fold, isEmail, unstorable } from '@crs/kit/text';
import { auditEntry } from '../../store/audit.ts';
import { findLinkedUser, insertIdentity } from '../../store/identities.ts';
import { findUser } from '../../store/users.ts';
import { SignInRefusal } from './refusals.ts';
import type { Identity } from './relying-party.ts';

interface LinkedUser {
  userId: string;
  email: string;
  sessionVersion: number;
}

/** The e-mail address that can link an identity to a user. @throws SignInRefusal if there is none */
export async function linkableEmail({ subject, email }: Identity, domains: readonly string[]): Promise<string> {
  const { address, isVerified } = await email();
  if (typeof address !== 'string' || !isEmail(address) || unstorable(address) || isVerified !== true)
    throw new SignInRefusal('unverified e-mail', subject);
  if (!domains.includes(fold(address).split('@')[1]!)) throw new SignInRefusal('foreign domain', subject);
  return address;
}

/**
 * Links an identity to the user with that e-mail. The link survives a change of the e-mail.
 * @returns the user, or why there is none: an exception would cost the transaction's connection
 */
export async function linkByEmail(
  query: Query,
  { organization, issuer, subject }: { organization: string; issuer: string; subject: string },
  email: string,
): Promise<LinkedUser | 'unknown e-mail' | 'disabled user' | 'linked to another account'> {
  const [user] = await query(findUser(organization, email));
  if (!user) return 'unknown e-mail';
  if (user.disabledAt) return 'disabled user';
  const [inserted] = await query(insertIdentity(organization, { issuer, subject, userId: user.userId }));
  if (inserted) {
    await query(auditEntry(organization, user.email, 'identity.link', `${subject} at ${issuer}`));
    return user;
  }
  // A concurrent sign-in of the same identity may have inserted the link.
  const [linked] = await query(findLinkedUser(organization, issuer, subject));
  return linked?.userId === user.userId ? linked : 'linked to another account';
}
