import { AuthorizationResponseError, ResponseBodyError } from 'openid-client';
import { GuardedFetchError } from '@crs/kit/http/guarded-fetch';

/** Tells the user why the sign-in through the organization's provider failed. */
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

/** The audit trail groups refusals by their reason. */
export type Reason = keyof typeof MESSAGES | 'state mismatch' | 'redirect URI of another organization';

export class SignInRefusal extends Error {
  override readonly name = 'SignInRefusal';
  readonly reason: keyof typeof MESSAGES;
  /**
   * For the audit trail. It never holds the cause of a failed fetch: operators of one organization read the trail, and the cause reveals
   * which addresses internal names resolve to.
   */
  readonly detail: string | undefined;

  /** @param missing what the provider's claims lack, for the page */
  constructor(reason: keyof typeof MESSAGES, detail?: string, { cause, missing }: { cause?: unknown; missing?: string } = {}) {
    super(missing === undefined ? MESSAGES[reason] : `${MESSAGES[reason]} (${missing})`, { cause });
    this.reason = reason;
    this.detail = detail;
  }
}

/** The refusal for an OpenID provider that refused, sent an invalid response or is unavailable. @param cause from openid-client */
export function providerFault(cause: unknown): SignInRefusal {
  const causes = causesOf(cause);
  const fetchError = causes.find((each) => each instanceof GuardedFetchError);
  const isUnavailable = fetchError !== undefined || causes.some((each) => each instanceof Response && each.status >= 500);
  const fault = cause instanceof AuthorizationResponseError ? 'provider error' : 'invalid answer';
  return new SignInRefusal(isUnavailable ? 'provider away' : fault, fetchError?.reason ?? messagesOf(cause), { cause });
}

/** The messages of an error and its causes, for the log. Text of the provider, which may contain tokens, is left out. */
export function messagesOf(error: unknown): string {
  const messages = causesOf(error).flatMap((cause) => {
    if (cause instanceof AuthorizationResponseError || cause instanceof ResponseBodyError)
      return `${cause.message} (${/^\w{1,40}$/.exec(cause.error)?.[0] ?? 'unreadable'})`;
    return cause instanceof Error ? cause.message : [];
  });
  return [...new Set(messages)].join(': ').slice(0, 300);
}

function causesOf(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [error];
}
