import type { Statement } from '@crs/kit/data/database';
import { digestOf } from '@crs/kit/product/api-key';
import { countTry, forgetTries } from '../store/throttles.ts';
import { directoryScopeNow, type SignInContext } from './context.ts';

interface Throttle {
  name: string;
  tries: number;
  windowSeconds: number;
}

export const REGISTRATIONS: Throttle = { name: 'registration', tries: 20, windowSeconds: 3_600 };
/**
 * Downloads of client metadata documents and of clients' keys, from addresses that strangers choose. A hosted assistant has few addresses,
 * and each replica downloads the keys of an active client once a minute.
 */
export const FETCHES: Throttle = { name: 'fetch', tries: 100, windowSeconds: 600 };
/** Tries at an account by all browsers that have never signed in to it. Enough for typing errors, too few for guessing. */
export const PASSWORDS_OF_ACCOUNT: Throttle = { name: 'account', tries: 10, windowSeconds: 900 };
/** More than for one account, because all people of an office share one address. */
export const PASSWORDS_OF_ADDRESS: Throttle = { name: 'address', tries: 100, windowSeconds: 900 };
/** Tries at an account by one browser that has signed in to it before. Tries of strangers don't count here. */
export const PASSWORDS_OF_DEVICE: Throttle = { name: 'device', tries: 10, windowSeconds: 900 };
/** All those browsers behind one address. */
export const DEVICES_OF_ADDRESS: Throttle = { name: 'devices', tries: 100, windowSeconds: 900 };
/** Each of these sends a request to an organization's provider. */
export const PROVIDERS_OF_ADDRESS: Throttle = { name: 'provider', tries: 1_000, windowSeconds: 900 };

/** Counts a try, for all replicas together. @returns seconds to wait after too many tries, else 0 */
export async function secondsToWait({ db }: Pick<SignInContext, 'db'>, throttle: Throttle, whose: string): Promise<number> {
  const [row] = await db.run(directoryScopeNow(), countTry(bucket(throttle, whose), throttle.windowSeconds));
  return row!.tries > throttle.tries ? Math.max(1, row!.resetsInSeconds) : 0;
}

export function forget(throttle: Throttle, whose: string): Statement {
  return forgetTries(bucket(throttle, whose));
}

function bucket({ name }: Throttle, whose: string): Buffer {
  return digestOf(`${name}:${whose}`);
}
