import type { Database, Query } from '@crs/kit/data/database';
import { fold, isEmail, unstorable } from '@crs/kit/text';
import type { EmailProof } from '../../domain/oidc-provider.ts';
import { auditEntry } from '../../store/audit.ts';
import { findLinkedUser, insertIdentity } from '../../store/identities.ts';
import type { OidcProviderRow } from '../../store/oidc-providers.ts';
import { findUser } from '../../store/users.ts';
import { credentialScopeNow } from '../context.ts';
import { SignInRefusal } from './refusals.ts';
import type { EmailClaims, Identity } from './relying-party.ts';

export interface LinkedUser {
  userId: string;
  email: string;
  sessionVersion: number;
}

type LinkRules = Pick<OidcProviderRow, 'domains' | 'emailProof'>;

/** Links the identity by its e-mail at first. Later, the subject alone identifies the user. @throws SignInRefusal */
export async function findOrLinkUser(
  db: Database,
  { organization, issuer }: { organization: string; issuer: string },
  identity: Identity,
  rules: LinkRules,
): Promise<LinkedUser> {
  const { subject } = identity;
  const [linked] = await db.read(credentialScopeNow(organization), findLinkedUser(organization, issuer, subject));
  if (linked?.disabledAt) throw new SignInRefusal('disabled user', subject);
  if (linked) return linked;
  const email = await linkableEmail(identity, rules);
  const account = { organization, issuer, subject };
  const user = await db.transact(credentialScopeNow(organization), (query) => linkByEmail(query, account, email));
  if (typeof user === 'string') throw new SignInRefusal(user, email);
  return user;
}

/**
 * The e-mail address that can link an identity to a user. Only the claim `email` counts: people choose their own `preferred_username`.
 * @throws SignInRefusal if there is none
 */
async function linkableEmail({ subject, email }: Identity, { domains, emailProof }: LinkRules): Promise<string> {
  const claims = await email();
  const address = typeof claims.email === 'string' ? claims.email : '';
  const isUsable = isEmail(address) && !unstorable(address);
  const missing = isUsable ? missingProof(claims, emailProof as EmailProof) : 'email is missing';
  if (missing) throw new SignInRefusal('unverified e-mail', `${subject}: ${missing}`, { missing });
  if (!domains.includes(fold(address).split('@')[1]!)) throw new SignInRefusal('foreign domain', subject);
  return address;
}

/** Microsoft Entra sends `xms_edov` as a boolean, a number or a text, by the kind of account. */
const ENTRA_TRUE: unknown[] = [true, 1, '1', 'true'];

/** @returns what the claims lack to prove the address; undefined if they prove it */
function missingProof({ email_verified, xms_edov }: EmailClaims, proof: EmailProof): string | undefined {
  if (email_verified === true) return undefined;
  if (email_verified !== undefined) return 'email_verified is not true';
  if (proof === 'issuer') return undefined;
  if (proof === 'claim') return 'email_verified is missing';
  if (ENTRA_TRUE.includes(xms_edov)) return undefined;
  return xms_edov === undefined ? 'email_verified and xms_edov are missing' : 'xms_edov is not true';
}

/**
 * Links an identity to the user with that e-mail. The link survives a change of the e-mail.
 * @returns the user, or why there is none: an exception would cost the transaction's connection
 */
async function linkByEmail(
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
