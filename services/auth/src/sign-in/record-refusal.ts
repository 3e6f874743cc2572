import { EVERY_ORGANIZATION, everyOrganizationScope } from '@crs/kit/data/scope';
import { digestOf } from '@crs/kit/api-key';
import { countFirst } from '../store/audit.ts';
import { credentialScopeNow, statementTime, type SignInContext } from './context.ts';
import type { Reason } from './federation/refusals.ts';

interface RefusedSignIn {
  organization: string;
  reason: Reason | 'wrong password';
  target: string;
  outcome: 'unauthenticated' | 'unavailable';
  /** The client's IP address. */
  address: string;
}

/**
 * Records a refused sign-in in the audit trail. All refusals of an organization for one reason within a minute share an entry, which has the
 * target and the address of the first one. So no number of tries, accounts or addresses makes more entries than there are reasons.
 *
 * It is always one statement: the response of an unknown organization takes as long as that of a known one.
 */
export async function recordRefusal({ db }: Pick<SignInContext, 'db'>, { reason, ...entry }: RefusedSignIn): Promise<void> {
  const { organization } = entry;
  const scope = organization === EVERY_ORGANIZATION ? everyOrganizationScope(statementTime()) : credentialScopeNow(organization);
  const countedAs = digestOf(JSON.stringify(['sign-in.refuse', reason]));
  await db.run(scope, countFirst({ ...entry, actor: 'sign-in', action: 'sign-in.refuse', countedAs }));
}
