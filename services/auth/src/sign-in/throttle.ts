import { digestOf } from '@crs/kit/product/api-key';
import { countTry, forgetTries, type ThrottleRow } from '../store/throttles.ts';
import { directoryScope } from '@crs/kit/data/scope';
import { type SignInContext, statementTime } from './context.ts';

interface Throttle {
  name: string;
  tries: number;
  windowSeconds: number;
}

export const REGISTRATIONS: Throttle = { name: 'registration', tries: 20, windowSeconds: 3_600 };
/** Of metadata documents, from wherever a stranger says. */
export const FETCHES: Throttle = { name: 'fetch', tries: 30, windowSeconds: 600 };
/** Enough for slips, too little for guessing. */
export const PASSWORDS_OF_ACCOUNT: Throttle = { name: 'account', tries: 10, windowSeconds: 900 };
/** An office shares one address. */
export const PASSWORDS_OF_ADDRESS: Throttle = { name: 'address', tries: 100, windowSeconds: 900 };
/** Each makes us ask an organization's provider. */
export const PROVIDERS_OF_ADDRESS: Throttle = { name: 'provider', tries: 1_000, windowSeconds: 900 };

/** Counts a try, for all replicas together. @returns seconds to wait where there were too many, else 0 */
export async function secondsToWait({ db }: Pick<SignInContext, 'db'>, throttle: Throttle, whose: string): Promise<number> {
  const [row] = await db.run<ThrottleRow>(
    directoryScope(statementTime()),
    countTry(bucket(throttle, whose), throttle.windowSeconds),
  );
  return row!.tries > throttle.tries ? Math.max(1, row!.resetsInSeconds) : 0;
}

export async function forget({ db }: Pick<SignInContext, 'db'>, throttle: Throttle, whose: string): Promise<void> {
  await db.run(directoryScope(statementTime()), forgetTries(bucket(throttle, whose)));
}

function bucket({ name }: Throttle, whose: string): Buffer {
  return digestOf(`${name}:${whose}`);
}
