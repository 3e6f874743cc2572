import { EVERY_ORGANIZATION, everyOrganizationScope } from '@crs/kit/data/scope';
import { digestOf } from '@crs/kit/api-key';
import { countFirst } from '../store/audit.ts';
import { credentialScopeNow, statementTime, type SignInContext } from './context.ts';
import type { Reason } from './federation/refusals.ts';
import type { AssertionReason } from './managed/refusals.ts';

/**
 * Records a refused sign-in, client or identity assertion in the audit trail. An organization's refusals for one reason within a minute share
 * one entry, with the target and the client's address of the first. No number of attempts, accounts or addresses can therefore add more
 * entries than there are reasons.
 *
 * It is one statement in every case, so that the response takes as long for an unknown organization as for a known one.
 */
export async function recordRefusal(
  { db }: Pick<SignInContext, 'db'>,
  refusal: {
    organization: string;
    /** Default: `sign-in.refuse`. */
    action?: 'sign-in.refuse' | 'connection.refuse';
    reason: Reason | 'wrong password' | AssertionReason;
    target: string;
    outcome: 'unauthenticated' | 'permission_denied' | 'unavailable';
    address: string;
  },
): Promise<void> {
  const { reason, action = 'sign-in.refuse', ...entry } = refusal;
  const { organization } = entry;
  const scope = organization === EVERY_ORGANIZATION ? everyOrganizationScope(statementTime()) : credentialScopeNow(organization);
  const countedAs = digestOf(JSON.stringify([action, reason]));
  await db.run(scope, countFirst({ ...entry, actor: 'sign-in', action, countedAs }));
}
