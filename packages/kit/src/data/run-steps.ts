import type { Knex } from 'knex';
import pRetry from 'p-retry';
import type { Migration } from './migration.ts';

/** Shorter than the timeout of `helm --wait`, so that the reason is in the log. */
const LOCK_RETRY_MS = 10 * 60_000;
const PAUSE = { minTimeout: 500, factor: 1.5, maxTimeout: 15_000 };

/** Another connection held the locks that a step needs for too long. */
export class StepLocked extends Error {
  override readonly name = 'StepLocked';
}

/** Runs the steps that haven't run, each in its own transaction unless it is `outsideTransaction`. @returns their names @throws StepLocked */
export async function runSteps(
  db: Knex,
  schema: string,
  steps: readonly Migration[],
  lockRetryMs = LOCK_RETRY_MS,
): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { name: string }[] }>('select name from ??.migrations', [schema]);
  const finished = new Set(rows.map(({ name }) => name));
  const due = steps.filter(({ name }) => !finished.has(name));
  for (const step of due) await retryWhileLocked(db, schema, step, lockRetryMs);
  return due.map(({ name }) => name);
}

async function retryWhileLocked(db: Knex, schema: string, step: Migration, lockRetryMs: number): Promise<void> {
  try {
    await pRetry(() => run(db, schema, step), {
      ...PAUSE,
      retries: Infinity,
      maxRetryTime: lockRetryMs,
      shouldRetry: ({ error }) => isLocked(error),
    });
  } catch (error) {
    if (!isLocked(error)) throw error;
    const message = `The migration ${schema}/${step.name} waits for a lock that ${await holderOf(db, schema)} holds. Wait until that has ended, or end it, then start again.`;
    throw new StepLocked(message, { cause: error });
  }
}

async function run(db: Knex, schema: string, step: Migration): Promise<void> {
  const perform = async (on: Knex) => {
    await step.up(on);
    await on.raw('insert into ??.migrations (name) values (?)', [schema, step.name]);
  };
  await (step.outsideTransaction === true ? perform(db) : db.transaction(perform));
}

/** `lock_not_available` and `deadlock_detected`. */
function isLocked(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01');
}

/**
 * Describes the oldest other transaction that holds a lock in the schema. Asks as the role that logged in, because PostgreSQL shows the start of others'
 * transactions only to superusers and members of pg_read_all_stats, and the owner of the schemas is neither.
 */
async function holderOf(db: Knex, schema: string): Promise<string> {
  const { rows } = await db.transaction(async (transaction) => {
    await transaction.raw('set local role none');
    return transaction.raw<{ rows: { pid: number; role: string; program: string; minutes: number | null }[] }>(
      `select pid, coalesce(usename, '') as role, coalesce(application_name, '') as program,
          floor(extract(epoch from now() - xact_start) / 60)::int as minutes
        from pg_stat_activity
        where pid <> pg_backend_pid() and pid in (select l.pid from pg_locks l join pg_class c on c.oid = l.relation
          where l.granted and l.database = (select oid from pg_database where datname = current_database())
            and c.relnamespace = to_regnamespace(?))
        order by xact_start nulls last limit 1`,
      [schema],
    );
  });
  const [holder] = rows;
  if (!holder) return 'another connection';
  const { pid, role, program, minutes } = holder;
  const duration = minutes === null ? '' : `, for ${minutes} min`;
  return `${program === '' ? 'a connection' : program} (pid ${pid}, role ${role}${duration})`;
}
