import type { Statement } from '@crs/kit/data/database';
import { widerNetworksOf } from '@crs/kit/http/address';
import { digestOf } from '@crs/kit/api-key';
import { countTry, deleteTries } from '../store/throttles.ts';
import { directoryScopeNow, type SignInContext } from './context.ts';

interface Throttle {
  name: string;
  tries: number;
  windowSeconds: number;
}

export const REGISTRATIONS: Throttle = { name: 'registration', tries: 20, windowSeconds: 3_600 };
/**
 * Fetches of clients' metadata documents and keys, by the address of the client. A hosted assistant has few addresses, and each replica
 * fetches the keys of an active client once a minute.
 */
export const FETCHES: Throttle = { name: 'fetch', tries: 100, windowSeconds: 600 };
/** Attempts at one account from all browsers that have never signed in to it. Enough for typing errors, too few for guessing. */
export const PASSWORDS_OF_ACCOUNT: Throttle = { name: 'account', tries: 10, windowSeconds: 900 };
/** More than for one account, because an office shares one address. */
export const PASSWORDS_OF_ADDRESS: Throttle = { name: 'address', tries: 100, windowSeconds: 900 };
/** Attempts at one account from one browser that has signed in to it before. */
export const PASSWORDS_OF_DEVICE: Throttle = { name: 'device', tries: 10, windowSeconds: 900 };
/** Attempts from all such browsers behind one address. */
export const DEVICES_OF_ADDRESS: Throttle = { name: 'devices', tries: 100, windowSeconds: 900 };
/** Sign-ins that send requests to an organization's provider. */
export const PROVIDERS_OF_ADDRESS: Throttle = { name: 'provider', tries: 1_000, windowSeconds: 900 };

/** Counts an attempt, across all replicas. @returns seconds to wait after too many, else 0 */
export async function secondsToWait({ db }: Pick<SignInContext, 'db'>, throttle: Throttle, key: string): Promise<number> {
  const [row] = await db.run(directoryScopeNow(), countTry(bucket(throttle, key), throttle.windowSeconds));
  return row!.tries > throttle.tries ? Math.max(1, row!.resetsInSeconds) : 0;
}

/**
 * Counts an attempt for an address and for its wider IPv6 networks, which have higher limits. An attempt beyond one limit doesn't count for
 * wider networks: otherwise one address could use up the attempts of its neighbours.
 */
export async function secondsToWaitOf(context: Pick<SignInContext, 'db'>, throttle: Throttle, address: string): Promise<number> {
  for (const { network, times } of [{ network: address, times: 1 }, ...widerNetworksOf(address)]) {
    const seconds = await secondsToWait(context, { ...throttle, tries: throttle.tries * times }, network);
    if (seconds > 0) return seconds;
  }
  return 0;
}

export function resetTries(throttle: Throttle, key: string): Statement {
  return deleteTries(bucket(throttle, key));
}

function bucket({ name }: Throttle, key: string): Buffer {
  return digestOf(`${name}:${key}`);
}
