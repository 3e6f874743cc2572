import { deleteExcess, deleteExpired } from '../store/oidc-payloads.ts';
import { directoryScopeNow, type SignInContext } from './context.ts';

const EVERY_MS = 10_000;
const BATCH = 500;

/** Deletes expired rows every 10 s, in small transactions, and the rows that strangers have too many of. @returns a function that ends this */
export function startCleanup({ db, log }: Pick<SignInContext, 'db' | 'log'>): () => void {
  const clean = async () => {
    while ((await db.transact(directoryScopeNow(), (query) => deleteExpired(query, BATCH))) === BATCH);
    await db.transact(directoryScopeNow(), (query) => deleteExcess(query));
  };
  const timer = setInterval(() => {
    clean().catch((error) => log.warn({ err: error }, 'expired sign-in state could not be deleted'));
  }, EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
