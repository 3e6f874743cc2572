import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { GuardedFetchError } from '../guarded-fetch.ts';
import type { NoUser } from './link.ts';

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

/** An organization's OpenID provider refused, sent an invalid answer or didn't answer. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly reason: 'provider away' | 'provider error' | 'invalid answer';
  /** For the log: messages of this service and its libraries. It holds no text from the provider, which may contain tokens. */
  readonly detail: string;
  /**
   * For the audit trail, which operators of one organization read, too: without the causes of a failed fetch. These would tell the addresses
   * of names inside the network.
   */
  readonly publicDetail: string;

  constructor(cause: unknown) {
    super('The OpenID provider could not be used.', { cause });
    const causes = causesOf(cause);
    this.reason = causes.some(isSilence)
      ? 'provider away'
      : cause instanceof AuthorizationResponseError
        ? 'provider error'
        : 'invalid answer';
    this.detail = textOf(causes);
    const fetched = causes.find((each) => each instanceof GuardedFetchError);
    this.publicDetail = fetched?.reason ?? textOf(causes);
  }
}

function textOf(causes: unknown[]): string {
  return [...new Set(causes.flatMap(messageOf))].join(': ').slice(0, 300);
}

function isSilence(cause: unknown): boolean {
  return cause instanceof GuardedFetchError || (cause instanceof Response && cause.status >= 500);
}

function messageOf(cause: unknown): string | [] {
  if (cause instanceof AuthorizationResponseError || cause instanceof ResponseBodyError)
    return `${cause.message} (${/^\w{1,40}$/.exec(cause.error)?.[0] ?? 'unreadable'})`;
  return cause instanceof Error ? cause.message : [];
}

function causesOf(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [error];
}
