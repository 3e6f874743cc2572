import { digestOf, randomBase62 } from '@crs/kit/api-key';
import { cookieSettings } from './cookies.ts';
import { cookiesOf, type Visit } from './request.ts';

/**
 * Device cookies, as OWASP describes them: a sign-in with a password leaves a signed cookie with the account and a random number. Tries of
 * this browser at this account then count by themselves, so strangers who guess at the account don't lock its owner out.
 *
 * The cookie holds the last accounts of the browser, each as `account.device`, separated by `~`.
 */
const MOST_ACCOUNTS = 5;
export const REMEMBERED_MS = 365 * 86_400_000;

/** The number that this browser has for the account; undefined if nobody has signed in to the account with it. */
export function deviceOf(visit: Visit, issuer: string, account: string): string | undefined {
  return devicesOf(visit, issuer).find(([key]) => key === keyOf(account))?.[1];
}

/** Remembers that somebody has signed in to the account with this browser. */
export function rememberDevice(visit: Visit, issuer: string, account: string): void {
  const { options, device: cookie } = cookieSettings(issuer);
  const key = keyOf(account);
  const others = devicesOf(visit, issuer).filter(([other]) => other !== key);
  const devices = [[key, randomBase62(22)], ...others].slice(0, MOST_ACCOUNTS);
  const value = devices.map((each) => each.join('.')).join('~');
  cookiesOf(visit).set(cookie, value, { ...options, maxAge: REMEMBERED_MS });
}

function devicesOf(visit: Visit, issuer: string): string[][] {
  const value = cookiesOf(visit).get(cookieSettings(issuer).device) ?? '';
  return value.split('~').map((device) => device.split('.'));
}

function keyOf(account: string): string {
  return digestOf(account).toString('base64url').slice(0, 22);
}
