import type { NoUser } from './link.ts';
import type { ProviderFault } from './provider-fault.ts';

/** Why a sign-in through an organization's provider failed; for the audit trail. */
export type Reason = keyof typeof MESSAGES | 'state mismatch' | 'redirect URI of another organization';

/** The same reasons for the person who signs in. */
export const MESSAGES: Record<NoUser | ProviderFault['reason'] | 'provider changed', string> = {
  'provider away': 'Your organization’s sign-in can’t be reached. Try again in a moment, or tell your administrator.',
  'provider error': 'Your organization’s sign-in did not let you in. Try again, or ask your administrator.',
  'provider changed': 'Your organization changed its sign-in in the meantime. Try again.',
  'invalid answer': 'Your organization’s sign-in sent an invalid answer. Try again, or tell your administrator.',
  'unverified e-mail':
    'Your organization’s sign-in has not verified your e-mail address. Verify it there, or ask your administrator.',
  'foreign domain':
    'The e-mail address of that account does not belong to this organization. Use your work account, or ask your administrator.',
  'unknown e-mail': 'This organization has no user with your e-mail address. Ask your administrator to add you.',
  'linked to another account':
    'The user with your e-mail address signs in with another account. Use that account, or ask your administrator.',
  'disabled user': 'Your user account is disabled. Ask your administrator.',
};
