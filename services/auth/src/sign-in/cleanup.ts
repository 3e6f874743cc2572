import { countDeleted } from '@crs/records/count-deleted';
import { deleteExcess, deleteExpired } from '../store/oidc-payloads.ts';
import { directoryScopeNow, type SignInContext } from './context.ts';

const EVERY_MS = 10_000;
const BATCH = 500;

/** Deletes expired rows, and what unauthenticated clients stored beyond the bounds, in small transactions. @returns a function that stops it */
export function startCleanup({ db, log }: Pick<SignInContext, 'db' | 'log'>): () => void {
  const clean = async () => {
    for (const deleteSome of [deleteExpired, deleteExcess]) {
      for (let last = BATCH; last === BATCH;) {
        const { payloads, throttles } = await db.transact(directoryScopeNow(), (query) => deleteSome(query, BATCH));
        countDeleted('sign-in', payloads);
        countDeleted('tries', throttles);
        last = Math.max(payloads, throttles);
      }
    }
  };
  for (const reason of ['sign-in', 'tries'] as const) countDeleted(reason, 0);
  const timer = setInterval(() => {
    clean().catch((error) => log.warn({ err: error }, 'expired sign-in state could not be deleted'));
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
