import type { IncomingMessage } from 'node:http';
import { chargeAddress, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import type { Refusal } from '@crs/kit/http/refusal';
import type { Rule } from '@crs/kit/limits/rule';
import type { AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';

/** Charges a request without a usable token. @throws Refusal 429 */
export async function chargeStranger(options: AddressCharging, request: IncomingMessage): Promise<void> {
  const refusal = refusalOf(await chargeAddress(options, request), 'this address');
  if (refusal) throw refusal;
}

export interface SignInCharging extends AddressCharging {
  /** For sign-in, per client address. */
  signInLimit: Rule;
}

/**
 * Charges sign-in to the address, apart from other requests of the address: hosted assistants come from few addresses with the tokens of
 * many users, and neither kind of request may use up the limit of the other.
 * @throws Refusal 429
 */
export async function chargeSignIn({ limiter, signInLimit }: SignInCharging, address: string): Promise<void> {
  const refusal = refusalOf(
    await limiter.check({ kind: 'address', id: `${address} sign-in`, rule: signInLimit }),
    'this address',
  );
  if (refusal) throw refusal;
}

/** Charges the call of a tool. @returns the refusal that replaces the tool's answer, if the limit is used up */
export async function chargeUser(
  { limiter }: AddressCharging,
  { organizationId, userId, rateLimit }: AuthenticateTokenResponse,
): Promise<Refusal | undefined> {
  return refusalOf(await limiter.check({ kind: 'user', id: `${organizationId}/${userId}`, rule: rateLimit! }), 'the user');
}
