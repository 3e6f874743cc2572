import type { IncomingMessage } from 'node:http';
import { addressCheck, addressOf, chargeAddress, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import type { Check } from '@crs/kit/limits/limiter';
import { widen, type Rule } from '@crs/kit/limits/rule';
import type { AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';

/** Charges a request without a usable token. @throws Refusal 429 */
export async function chargeStranger(options: AddressCharging, request: IncomingMessage): Promise<void> {
  const refusal = refusalOf(await chargeAddress(options, request), 'this address');
  if (refusal) throw refusal;
}

/** How many times wider the limit of preflights is: a browser may send one before each request, so they must never be what stops a page. */
const PREFLIGHTS_PER_REQUEST = 10;

/** Whether a request is a preflight, by which a browser asks whether a page may send its request. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** Charges a preflight to the address, apart from the other requests of the address. @throws Refusal 429 */
export async function chargePreflight(options: AddressCharging, request: IncomingMessage): Promise<void> {
  const check = preflightCheck(options, addressOf(options, request));
  const refusal = refusalOf(await options.limiter.check(check), 'this address');
  if (refusal) throw refusal;
}

/** The charge of a preflight. */
export function preflightCheck({ addressLimit }: AddressCharging, address: string): Check {
  return addressCheck(address, widen(addressLimit, PREFLIGHTS_PER_REQUEST), 'preflights');
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
export async function chargeSignIn(options: SignInCharging, address: string): Promise<void> {
  const refusal = refusalOf(await options.limiter.check(signInCheck(options, address)), 'this address');
  if (refusal) throw refusal;
}

/** The charge of a request of sign-in. */
export function signInCheck({ signInLimit }: SignInCharging, address: string): Check {
  return addressCheck(address, signInLimit, 'sign-in');
}

/** Charges the call of a tool to the user. @throws Refusal 429 */
export async function chargeCall({ limiter }: AddressCharging, user: AuthenticateTokenResponse): Promise<void> {
  const refusal = refusalOf(await limiter.check(callCheck(user)), 'the user');
  if (refusal) throw refusal;
}

/** The charge of the call of a tool. */
export function callCheck(user: AuthenticateTokenResponse): Check {
  return { kind: 'user', id: idOf(user), rule: user.rateLimit! };
}

/** How many times wider the limit of other messages is: they cost less than a call, and a client sends several before its first call. */
const MESSAGES_PER_CALL = 10;

/** Charges a message that calls no tool to the user, apart from the user's calls. @throws Refusal 429 */
export async function chargeMessage({ limiter }: AddressCharging, user: AuthenticateTokenResponse): Promise<void> {
  const rule = widen(user.rateLimit!, MESSAGES_PER_CALL);
  const refusal = refusalOf(await limiter.check({ kind: 'user', id: `${idOf(user)} messages`, rule }), 'the user');
  if (refusal) throw refusal;
}

function idOf({ organizationId, userId }: AuthenticateTokenResponse): string {
  return `${organizationId}/${userId}`;
}
