import pLimit from 'p-limit';
import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { unavailable } from '@crs/kit/errors';
import { fold, ORGANIZATION_ID, unstorable } from '@crs/kit/text';
import { countAction } from '../count-action.ts';
import { hashPassword, verifyPassword } from '../domain/password.ts';
import { auditEntry } from '../store/audit.ts';
import { findOidcProvider } from '../store/oidc-providers.ts';
import { organizationExists } from '../store/organizations.ts';
import { findUser } from '../store/users.ts';
import { toAccountId } from './accounts.ts';
import { credentialScopeNow, directoryScopeNow, type SignInContext } from './context.ts';
import { recordRefusal } from './record-refusal.ts';
import {
  DEVICES_OF_ADDRESS,
  resetTries,
  PASSWORDS_OF_ACCOUNT,
  PASSWORDS_OF_ADDRESS,
  PASSWORDS_OF_DEVICE,
  secondsToWait,
  secondsToWaitOf,
} from './throttle.ts';

/** Each hash takes 19 MiB and keeps a core busy. */
const atMostTwo = pLimit(2);
/** About three seconds of hashing. */
const MAX_WAITING = 200;
const MAX_PASSWORD_LENGTH = 1_024;

/** Compared with when the user is unknown, so that the response takes as long as for a known one. */
const DUMMY_HASH = hashPassword(crypto.randomUUID());

interface Credentials {
  organization: string;
  email: string;
  password: string;
  /** The client's IP address, for the audit trail and the throttle. */
  address: string;
  /** The browser's device id for the account: see `devices.ts`. */
  device?: string | undefined;
}

/** The key of an account, which may not exist, in throttles and device cookies. */
export function accountOf({ organization, email }: Pick<Credentials, 'organization' | 'email'>): string {
  return `${organization} ${fold(email)}`;
}

type SignInOutcome =
  { kind: 'accepted'; accountId: string } | { kind: 'refused' } | { kind: 'throttled'; retryAfterSeconds: number };

/** Checks a password. A refusal doesn't reveal whether the organization, the user or the password is wrong, the user is disabled, or the organization suspended. */
export async function checkPassword(context: Pick<SignInContext, 'db'>, credentials: Credentials): Promise<SignInOutcome> {
  const { organization, email, password, address, device } = credentials;
  const account = accountOf(credentials);
  const [throttle, key, addressThrottle] =
    device === undefined
      ? [PASSWORDS_OF_ACCOUNT, account, PASSWORDS_OF_ADDRESS]
      : [PASSWORDS_OF_DEVICE, `${account} ${device}`, DEVICES_OF_ADDRESS];
  const waits = await Promise.all([secondsToWait(context, throttle, key), secondsToWaitOf(context, addressThrottle, address)]);
  const { exists, isSuspended, user, provider } = await lookUp(context, organization, email);
  const entry = {
    organization: exists ? organization : EVERY_ORGANIZATION,
    // Never text from the form, because users type passwords into the wrong field.
    target: user?.email ?? 'unknown user',
    address,
  };
  const retryAfterSeconds = Math.max(...waits);
  if (retryAfterSeconds > 0) {
    const refused = { ...entry, actor: 'sign-in', action: 'sign-in.refuse', outcome: 'resource_exhausted' };
    await countAction(context.db, { ...refused, key: account, source: 'throttled sign-ins' });
    return { kind: 'throttled', retryAfterSeconds };
  }

  const hash = user?.passwordHash ?? (await DUMMY_HASH);
  if (atMostTwo.pendingCount >= MAX_WAITING) throw unavailable('Too many people sign in right now.');
  const matches = await atMostTwo(() => verifyPassword(password.slice(0, MAX_PASSWORD_LENGTH), hash));
  const isPossible = exists && !isSuspended && !provider && password.length <= MAX_PASSWORD_LENGTH;
  if (!matches || !isPossible || !user?.passwordHash || user.disabledAt) {
    await recordRefusal(context, { ...entry, reason: 'wrong password', outcome: 'unauthenticated' });
    return { kind: 'refused' };
  }
  const accepted = auditEntry(organization, user.email, 'sign-in.accept', user.email, { address });
  await context.db.run(credentialScopeNow(organization), accepted);
  await context.db.run(directoryScopeNow(), resetTries(throttle, key));
  return { kind: 'accepted', accountId: toAccountId({ organization, ...user }) };
}

/** Runs the same queries for every organization and e-mail, so that the response takes as long for impossible ones. */
async function lookUp({ db }: Pick<SignInContext, 'db'>, organization: string, email: string) {
  const isPossible = ORGANIZATION_ID.test(organization) && email.length <= 508 && unstorable(email) === undefined;
  const tenant = isPossible ? organization : 'nobody';
  const [[user], [known], [provider]] = await db.transact(credentialScopeNow(tenant), (query) =>
    Promise.all([
      isPossible ? query(findUser(tenant, email)) : [],
      query(organizationExists(tenant)),
      query(findOidcProvider(tenant)),
    ]),
  );
  return { exists: isPossible && known !== undefined, isSuspended: known?.isSuspended === true, user, provider };
}
