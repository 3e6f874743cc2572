import type { Encrypter } from '@crs/kit/data/encrypter';
import type { Checks } from './relying-party.ts';

/** A sign-in that continues at an organization's own identity provider. A cookie holds it, so that any replica can finish it. */
export interface PendingSignIn extends Checks {
  organization: string;
  issuer: string;
  /** The id of the authorization request that continues after the sign-in. Undefined: the page /connections follows. */
  uid?: string | undefined;
}

/** How long the user has to sign in at the provider, in milliseconds. */
export const PENDING_MS = 600_000;

export function encryptPending(encrypter: Encrypter, pending: PendingSignIn): string {
  return encrypter.encrypt(Buffer.from(JSON.stringify({ ...pending, until: Date.now() + PENDING_MS }))).toString('base64url');
}

/** @returns undefined if the cookie is missing, it is older than {@link PENDING_MS}, or none of our secrets encrypted it */
export function decryptPending(encrypter: Encrypter, cookie = ''): PendingSignIn | undefined {
  try {
    const { until, ...pending } = JSON.parse(encrypter.decrypt(Buffer.from(cookie, 'base64url')).toString());
    return until > Date.now() ? pending : undefined;
  } catch {
    return undefined;
  }
}
