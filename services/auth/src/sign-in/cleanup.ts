import { deleteExpired } from '../store/oidc-payloads.ts';
import { directoryScopeNow, type SignInContext } from './context.ts';

const EVERY_MS = 60_000;
const BATCH = 500;

/** Deletes expired rows each minute, in small transactions. @returns a function that ends this */
export function startCleanup({ db, log }: Pick<SignInContext, 'db' | 'log'>): () => void {
  const clean = async () => {
    while ((await db.transact(directoryScopeNow(), (query) => deleteExpired(query, BATCH))) === BATCH);
  };
  const timer = setInterval(() => {
    clean().catch((error) => log.warn({ err: error }, 'expired sign-in state could not be deleted'));
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
