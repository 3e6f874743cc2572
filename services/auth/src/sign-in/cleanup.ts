import type { Query } from '@crs/kit/data/database';
import { countDeleted } from '@crs/records/count-deleted';
import { deleteExcess, deleteExpired, type Gone } from '../store/oidc-payloads.ts';
import { directoryScopeNow, type SignInContext } from './context.ts';

const EVERY_MS = 10_000;
const BATCH = 500;

/** Deletes expired rows every 10 s, in small transactions, and the rows that strangers have too many of. @returns a function that ends this */
export function startCleanup({ db, log }: Pick<SignInContext, 'db' | 'log'>): () => void {
  const inBatches = async (work: (query: Query) => Promise<Gone>) => {
    for (let last = BATCH; last === BATCH;) {
      const { payloads, throttles } = await db.transact(directoryScopeNow(), work);
      countDeleted('sign-in', payloads);
      countDeleted('tries', throttles);
      last = Math.max(payloads, throttles);
    }
  };
  const clean = async () => {
    await inBatches((query) => deleteExpired(query, BATCH));
    await inBatches((query) => deleteExcess(query, BATCH));
  };
  for (const reason of ['sign-in', 'tries'] as const) countDeleted(reason, 0);
  const timer = setInterval(() => {
    clean().catch((error) => log.warn({ err: error }, 'expired sign-in state could not be deleted'));
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
