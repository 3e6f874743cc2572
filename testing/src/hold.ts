/** Blocks statements or commits of the system under test, so that a test can act at a certain moment. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession, type Session } from './sql.ts';

/** Where work is blocked: in a statement on a table, or in the commit after it wrote to the table. */
export interface Hold {
  table: string;
  at: 'statement' | 'commit';
  /** Application name of the blocked connection. */
  by: string;
}

/** Creates triggers by which tests can block the commit of each transaction that wrote to one of the tables. */
export async function letCommitsBeHeld(database: Session, tables: string[]): Promise<void> {
  await database.query(`create function public.hold() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(hashtextextended(tg_argv[0], 0)); return null; end $$`);
  for (const table of tables) {
    await database.query(`create constraint trigger hold after insert or update on ${table} deferrable initially deferred
      for each row execute function public.hold('${table}')`);
  }
}

/**
 * Calls `begin`, waits until what it started is blocked, and then runs `work`.
 * @param begin returns its pending promise inside an object, because returning the promise itself would await it here
 * @param reads whether to block statements that only read, too
 */
export async function whileHeld<T extends object>(
  databaseUrl: string,
  { table, at, by }: Hold,
  begin: () => T,
  work: () => Promise<void>,
  { reads = false } = {},
): Promise<T> {
  const locks = await openSession(databaseUrl);
  try {
    await locks.query('begin');
    if (at === 'statement') await locks.query(`lock table ${table} in ${reads ? 'access exclusive' : 'share'} mode`);
    else await locks.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [table]);
    const begun = begin();
    await lockWaiter(databaseUrl, by);
    await work();
    return begun;
  } finally {
    // Closing the session ends its transaction.
    await locks.close();
  }
}

/** Resolves once a connection with this application name waits for a lock. @returns the id of its server process */
export async function lockWaiter(databaseUrl: string, applicationName: string): Promise<number> {
  // A session of its own, because PostgreSQL shows the same activity until the end of a transaction.
  const session = await openSession(databaseUrl);
  try {
    for (const until = Date.now() + 20_000; Date.now() < until; await sleep(10)) {
      const [waiter] = await session.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
        [applicationName],
      );
      if (waiter) return waiter.pid;
    }
    throw new Error(`${applicationName} doesn't wait for a lock`);
  } finally {
    await session.close();
  }
}
