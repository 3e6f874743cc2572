import { invalid, REASONS, ServiceError } from '@crs/kit/errors';
import type { OperatorRights } from '@crs/kit/rpc/operators';
import type { AssertionIssuers } from '@crs/proto/crs/auth/v1/admin';
import { parseIssuer } from './oidc-provider.ts';
import type { OrganizationChange } from './settings.ts';

export const MAX_ISSUERS = 10;

/**
 * @param before the organization's list; undefined for a new organization
 * @param oidcIssuer the issuer of its OpenID provider once the change is stored; undefined or null: it will have none
 * @returns the list to store; undefined if it doesn't change
 * @throws ServiceError invalid_argument, or failed_precondition if the organization would have issuers and no provider
 */
export function changeAssertionIssuers(
  before: { assertionIssuers: string[] } | undefined,
  settings: AssertionIssuers | undefined,
  oidcIssuer: string | null | undefined,
): string[] | undefined {
  const change = settings && parseIssuers(settings.issuers);
  const issuers = change ?? before?.assertionIssuers ?? [];
  if (issuers.length === 0 || oidcIssuer) return change;
  const next = change
    ? 'set --oidc-issuer, --oidc-client-id and --oidc-domains'
    : 'to remove the provider, add --assertion-issuers none';
  const reason = 'need an OpenID provider, whose domains bound the e-mails of assertions';
  throw new ServiceError('failed_precondition', `assertion_issuers: ${reason}: ${next}.`, { field: 'assertion_issuers' });
}

/**
 * An issuer of an operator's choice could connect itself to any user, so only operators who may see all organizations add issuers.
 * @throws ServiceError permission_denied
 */
export function requireMayTrust(
  { organizations }: OperatorRights,
  before: { assertionIssuers: string[] },
  { assertionIssuers }: OrganizationChange,
): void {
  const added = assertionIssuers?.find((issuer) => !before.assertionIssuers.includes(issuer));
  if (organizations.length === 0 || added === undefined) return;
  const reason = `${added} would be new, and an operator that is bound to organizations can only keep or remove issuers`;
  throw new ServiceError(
    'permission_denied',
    `assertion_issuers: ${reason}. Ask an admin or manager who isn't bound to add it.`,
    {
      field: 'assertion_issuers',
      reason: REASONS.operatorBound,
    },
  );
}

function parseIssuers(issuers: string[]): string[] {
  const parsed = [...new Set(issuers.map((issuer) => parseIssuer('assertion_issuers', issuer)))];
  if (parsed.length > MAX_ISSUERS) throw invalid('assertion_issuers', `must be at most ${MAX_ISSUERS}`);
  return parsed.sort();
}
