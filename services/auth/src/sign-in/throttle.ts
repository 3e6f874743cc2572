import type { Statement } from '@crs/kit/data/database';
import { widerNetworksOf } from '@crs/kit/http/address';
import { digestOf } from '@crs/kit/api-key';
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

/**
 * Counts a try of an address, and of the networks around it, which have wider limits. A try that one of them refuses doesn't count for the
 * wider ones: otherwise one address could use up the tries of its neighbours.
 */
export async function secondsToWaitOf(context: Pick<SignInContext, 'db'>, throttle: Throttle, address: string): Promise<number> {
  for (const { network, times } of [{ network: address, times: 1 }, ...widerNetworksOf(address)]) {
    const seconds = await secondsToWait(context, { ...throttle, tries: throttle.tries * times }, network);
    if (seconds > 0) return seconds;
  }
  return 0;
}

export function forget(throttle: Throttle, whose: string): Statement {
  return forgetTries(bucket(throttle, whose));
}

function bucket({ name }: Throttle, whose: string): Buffer {
  return digestOf(`${name}:${whose}`);
}
