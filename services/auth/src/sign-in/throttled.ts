import { EVERY_ORGANIZATION } from '@crs/kit/data/scope';
import { fold, ORGANIZATION_ID, unstorable } from '@crs/kit/text';
import { countAction } from '../count-action.ts';
import { organizationExists } from '../store/organizations.ts';
import { findUser } from '../store/users.ts';
import { credentialScopeNow, type SignInContext } from './context.ts';

/** Records a try that was refused because there were too many: one entry counts those of an account in a minute. */
export async function recordThrottled(
  { db }: Pick<SignInContext, 'db'>,
  { organization, email, address }: { organization: string; email: string; address: string },
): Promise<void> {
  const isPossible = ORGANIZATION_ID.test(organization) && email.length <= 508 && unstorable(email) === undefined;
  const [[user], [known]] = isPossible
    ? await db.transact(credentialScopeNow(organization), (query) =>
        Promise.all([query(findUser(organization, email)), query(organizationExists(organization))]),
      )
    : [[], []];
  await countAction(db, {
    organization: known ? organization : EVERY_ORGANIZATION,
    actor: 'sign-in',
    action: 'sign-in.refuse',
    // The audit trail takes no typed text, because people type passwords into the wrong field.
    target: user?.email ?? 'unknown user',
    outcome: 'resource_exhausted',
    address,
    key: `${organization} ${fold(email)}`,
    source: 'throttled sign-ins',
  });
}
