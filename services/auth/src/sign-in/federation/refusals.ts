import type { NoUser } from './link.ts';
import type { ProviderFault } from './provider-fault.ts';

/** Why a sign-in by an organization's provider came to nothing; for the audit trail. */
export type Reason = NoUser | ProviderFault['reason'] | 'provider changed' | 'state mismatch';

/** What people read. */
export const MESSAGES: Record<Exclude<Reason, 'state mismatch'>, string> = {
  'provider away': 'Your organization’s sign-in can’t be reached. Try again in a moment, or tell your administrator.',
  'provider error': 'Your organization’s sign-in did not let you in.',
  'provider changed': 'Your organization has changed its sign-in meanwhile. Try again.',
  'invalid answer': 'Your organization’s sign-in gave an answer that can’t be trusted. Try again, or tell your administrator.',
  'unverified e-mail':
    'Your organization’s sign-in does not vouch for your e-mail address. Have it verified there, or ask your administrator.',
  'foreign domain':
    'Your e-mail address there is not one of this organization’s. Use your account at work, or ask your administrator.',
  'unknown e-mail': 'Nobody in this organization has your e-mail address. Ask your administrator to add you.',
  'linked to another account':
    'The user with your e-mail address signs in with another account. Use that one, or ask your administrator.',
  'disabled user': 'Your user is disabled. Ask your administrator.',
};

/** To those who looked for a provider where there is none. */
export function noProvider(organization: string): string {
  return organization === ''
    ? 'Name your organization first.'
    : 'This organization has no sign-in of its own. Use your e-mail and password.';
}
