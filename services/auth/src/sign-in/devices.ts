import { digestOf, randomBase62 } from '@crs/kit/api-key';
import type { Visit } from './request.ts';

/**
 * OWASP's device cookies: a sign-in with a password sets a signed cookie with the account and a random device id. This browser's later
 * attempts at the account have a limit of their own, so an attacker who guesses passwords can't lock the owner out.
 *
 * The cookie holds the browser's latest accounts, each as `account.device`, separated by `~`.
 */
const MOST_ACCOUNTS = 5;
export const REMEMBERED_MS = 365 * 86_400_000;

/** The browser's device id for the account; undefined if nobody has signed in to the account with this browser. */
export function deviceOf(visit: Visit, account: string): string | undefined {
  return devicesOf(visit).find(([key]) => key === keyOf(account))?.[1];
}

export function rememberDevice(visit: Visit, account: string): void {
  const key = keyOf(account);
  const others = devicesOf(visit).filter(([other]) => other !== key);
  const devices = [[key, randomBase62(22)], ...others].slice(0, MOST_ACCOUNTS);
  visit.cookies.set('device', devices.map((each) => each.join('.')).join('~'), REMEMBERED_MS);
}

function devicesOf({ cookies }: Visit): string[][] {
  return (cookies.get('device') ?? '').split('~').map((device) => device.split('.'));
}

function keyOf(account: string): string {
  return digestOf(account).toString('base64url').slice(0, 22);
}
