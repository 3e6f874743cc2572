import { setTimeout as sleep } from 'node:timers/promises';
import * as column from './column.ts';
import type { Database } from './database.ts';
import type { Closer } from '../process/lifecycle.ts';
import type { Logger } from '../process/log.ts';
import type { Migration } from './migration.ts';
import { directoryScope, workFor } from './scope.ts';

const ASK_EVERY_MS = 1_000;

/**
 * Resolves once all of these migrations have run on a service's schema. Migrations of a later version don't matter. Until then it asks the database
 * every second, also while the database is away, and logs the reason for waiting.
 * @throws Error if the service is stopped meanwhile
 */
export async function schemaReady(
  service: string,
  db: Database,
  migrations: readonly Migration[],
  log: Logger,
  closer: Closer,
): Promise<void> {
  const stopped = new AbortController();
  closer.defer('schema gate', () => stopped.abort());
  const { signal } = stopped;
  for (let said = ''; ;) {
    const waitsFor = await missing(service, db, migrations, signal);
    signal.throwIfAborted();
    if (waitsFor === undefined) return;
    const { reason, error } = waitsFor;
    if (reason !== said) log.warn({ ...(error !== undefined && { err: error }), reason }, 'waiting for the schema');
    said = reason;
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
}

/** Why the schema isn't ready, or undefined if it is. */
async function missing(
  service: string,
  db: Database,
  migrations: readonly Migration[],
  signal: AbortSignal,
): Promise<{ reason: string; error?: unknown } | undefined> {
  const names = migrations.map(({ name }) => name);
  const statement = {
    name: 'schema_migrations',
    row: { name: column.varchar },
    text: `select name from ${service}.migrations where name = any($1)`,
    values: [names],
  };
  try {
    const rows = await db.read(directoryScope({ ...workFor(5_000), signal }), statement);
    const found = new Set(rows.map(({ name }) => name));
    const first = names.find((name) => !found.has(name));
    return first === undefined ? undefined : { reason: `the migration ${first} has not run` };
  } catch (error) {
    // A missing schema, table, role, right or database: the migrations make all of them.
    return { reason: `it can't be read (${codeOf(error) ?? 'no answer'})`, error };
  }
}

/** The database's or the system's code, taken from the innermost cause. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return codeOf(error.cause) ?? ('code' in error && typeof error.code === 'string' ? error.code : undefined);
}
