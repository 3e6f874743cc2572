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
  const lockSession = await openSession(databaseUrl);
  const pollSession = await openSession(databaseUrl);
  try {
    await lockSession.query('begin');
    if (at === 'statement') await lockSession.query(`lock table ${table} in ${reads ? 'access exclusive' : 'share'} mode`);
    else await lockSession.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [table]);
    const started = begin();
    const blockedQuery = `select 1 from pg_stat_activity where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`;
    const until = Date.now() + 20_000;
    while ((await pollSession.query(blockedQuery, [by])).length === 0) {
      if (Date.now() > until) throw new Error(`${by} doesn't wait at ${table}`);
      await sleep(10);
    }
    await work();
    return started;
  } finally {
    // Closing the session ends its transaction.
    await lockSession.close();
    await pollSession.close();
  }
}
