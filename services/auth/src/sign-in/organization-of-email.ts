import { everyOrganizationScope } from '@crs/kit/data/scope';
import { fold, isEmail, unstorable } from '@crs/kit/text';
import { findOrganizationsOfDomain } from '../store/oidc-providers.ts';
import { statementTime, type SignInContext } from './context.ts';
import { isAway } from './problem.ts';

/** The one organization that lists the domain of this e-mail, or else the default one. Empty: the person has to say more. */
export async function organizationOf({ db, defaultOrganization, log }: SignInContext, email: string): Promise<string> {
  if (!isAddress(email)) return '';
  const statement = findOrganizationsOfDomain(fold(email).split('@')[1]!);
  // This reads all organizations. One of them whose database is away must not keep the people of the others out.
  const found = await db.read(everyOrganizationScope(statementTime()), statement).catch((error: unknown) => {
    if (!isAway(error)) throw error;
    log.warn({ err: error }, 'the organization of a domain could not be looked up');
    return [];
  });
  return (found.length === 1 ? found[0]!.organization : defaultOrganization) ?? '';
}

export function isAddress(email: string): boolean {
  return isEmail(email) && unstorable(email) === undefined;
}
