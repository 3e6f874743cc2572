import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { GuardedFetchError } from '../guarded-fetch.ts';

/** For the person who signs in: why the sign-in through the organization's provider failed. */
export const MESSAGES = {
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

/** For the audit trail. */
export type Reason = keyof typeof MESSAGES | 'state mismatch' | 'redirect URI of another organization';

export class SignInRefusal extends Error {
  override readonly name = 'SignInRefusal';
  readonly reason: keyof typeof MESSAGES;
  /**
   * For the audit trail, which operators of one organization read, too. It holds no causes of a failed fetch, which would tell the addresses
   * of names inside the network.
   */
  readonly detail: string | undefined;

  constructor(reason: keyof typeof MESSAGES, detail?: string, cause?: unknown) {
    super(MESSAGES[reason], { cause });
    this.reason = reason;
    this.detail = detail;
  }
}

/** The refusal for an OpenID provider that refused, sent an invalid answer or didn't answer. @param cause from openid-client */
export function providerFault(cause: unknown): SignInRefusal {
  const causes = causesOf(cause);
  const fetched = causes.find((each) => each instanceof GuardedFetchError);
  const isAway = fetched !== undefined || causes.some((each) => each instanceof Response && each.status >= 500);
  const answered = cause instanceof AuthorizationResponseError ? 'provider error' : 'invalid answer';
  return new SignInRefusal(isAway ? 'provider away' : answered, fetched?.reason ?? textOf(cause), cause);
}

/** Messages of this service and its libraries, for the log. They hold no text from the provider, which may contain tokens. */
export function textOf(error: unknown): string {
  return [...new Set(causesOf(error).flatMap(messageOf))].join(': ').slice(0, 300);
}

function messageOf(cause: unknown): string | [] {
  if (cause instanceof AuthorizationResponseError || cause instanceof ResponseBodyError)
    return `${cause.message} (${/^\w{1,40}$/.exec(cause.error)?.[0] ?? 'unreadable'})`;
  return cause instanceof Error ? cause.message : [];
}

function causesOf(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [error];
}
