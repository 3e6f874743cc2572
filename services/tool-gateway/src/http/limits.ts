import type { IncomingMessage } from 'node:http';
import { addressCheck, addressOf, refusalOf, type AddressCharging } from '@crs/kit/http/charge';
import type { Check } from '@crs/kit/limits/limiter';
import { widen, type Rule } from '@crs/kit/limits/rule';
import type { AuthenticateTokenResponse } from '@crs/proto/crs/auth/v1/auth';

/** The limit of preflights as a multiple of the address's: a browser may send one before each request, so they must not use up its limit. */
const PREFLIGHTS_PER_REQUEST = 10;
/** The limit of other messages as a multiple of the user's: they cost less than a tool call, and a client sends several before its first call. */
const MESSAGES_PER_CALL = 10;

export interface SignInCharging extends AddressCharging {
  /** Limit of sign-in requests per client address. */
  signInLimit: Rule;
}

/** Charges a request without a valid token. @throws Refusal 429 */
export function chargeUnauthenticated(options: AddressCharging, request: IncomingMessage): Promise<void> {
  return charge(options, addressCheck(addressOf(options, request), options.addressLimit), 'this address');
}

/** Charges a preflight to a separate counter of the address. @throws Refusal 429 */
export function chargePreflight(options: AddressCharging, request: IncomingMessage): Promise<void> {
  const rule = widen(options.addressLimit, PREFLIGHTS_PER_REQUEST);
  return charge(options, addressCheck(addressOf(options, request), rule, 'preflights'), 'this address');
}

/**
 * Charges a sign-in request to a separate counter of the address. Hosted assistants send the requests of many users from few addresses, and neither
 * kind of request may use up the limit of the other.
 * @throws Refusal 429
 */
export function chargeSignIn(options: SignInCharging, address: string): Promise<void> {
  return charge(options, addressCheck(address, options.signInLimit, 'sign-in'), 'this address');
}

/** Charges a tool call to the user. @throws Refusal 429 */
export function chargeCall(options: AddressCharging, user: AuthenticateTokenResponse): Promise<void> {
  return charge(options, { kind: 'user', id: idOf(user), rule: user.rateLimit! }, 'the user');
}

/** Charges any other message to a separate counter of the user. @throws Refusal 429 */
export function chargeMessage(options: AddressCharging, user: AuthenticateTokenResponse): Promise<void> {
  const rule = widen(user.rateLimit!, MESSAGES_PER_CALL);
  return charge(options, { kind: 'user', id: `${idOf(user)} messages`, rule }, 'the user');
}

async function charge({ limiter }: AddressCharging, check: Check, whose: string): Promise<void> {
  const refusal = refusalOf(await limiter.check(check), whose);
  if (refusal) throw refusal;
}

function idOf({ organizationId, userId }: AuthenticateTokenResponse): string {
  return `${organizationId}/${userId}`;
}

/** Whether a request is a CORS preflight. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}
