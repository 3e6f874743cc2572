import { setTimeout as sleep } from 'node:timers/promises';
import * as column from './column.ts';
import type { Database } from './database.ts';
import type { Shutdown } from '../process/lifecycle.ts';
import type { Logger } from '../process/log.ts';
import type { Migration } from './migration.ts';
import { directoryScope, workFor } from './scope.ts';

const CHECK_EVERY_MS = 1_000;

/**
 * Resolves once all of these migrations have run on a service's schema. It may have further ones, of a later version.
 * @throws Error if the service is stopped meanwhile
 */
export async function schemaReady(
  service: string,
  db: Database,
  migrations: readonly Migration[],
  log: Logger,
  shutdown: Shutdown,
): Promise<void> {
  await waitForDatabase('the schema', (signal) => findMissing(service, db, migrations, signal), log, shutdown);
}

/** The reason why a service can't serve yet. */
export interface Obstacle {
  reason: string;
  error?: unknown;
}

/**
 * Resolves once `check` finds no obstacle. Checks every second, even while the database is down, and logs the obstacle whenever it changes. An error
 * of the database is an obstacle.
 * @throws Error if the service is stopped meanwhile
 */
export async function waitForDatabase(
  what: string,
  check: (signal: AbortSignal) => Promise<Obstacle | undefined>,
  log: Logger,
  shutdown: Shutdown,
): Promise<void> {
  const stopped = new AbortController();
  shutdown.defer(`wait for ${what}`, () => stopped.abort());
  const { signal } = stopped;
  for (let logged = ''; ;) {
    const obstacle = await check(signal).catch((error: unknown) => ({
      reason: `it can't be read (${codeOf(error) ?? 'no answer'})`,
      error,
    }));
    signal.throwIfAborted();
    if (obstacle === undefined) return;
    const { reason, error } = obstacle;
    if (reason !== logged) log.warn({ ...(error !== undefined && { err: error }), reason }, `waiting for ${what}`);
    logged = reason;
    await sleep(CHECK_EVERY_MS, undefined, { signal });
  }
}

/** Finds a migration that hasn't run. If the schema or the role doesn't exist yet, the query fails, which is an obstacle as well. */
async function findMissing(
  service: string,
  db: Database,
  migrations: readonly Migration[],
  signal: AbortSignal,
): Promise<Obstacle | undefined> {
  const names = migrations.map(({ name }) => name);
  const statement = {
    name: 'schema_migrations',
    row: { name: column.varchar },
    text: `select name from ${service}.migrations where name = any($1)`,
    values: [names],
  };
  const rows = await db.read(directoryScope({ ...workFor(5_000), signal }), statement);
  const found = new Set(rows.map(({ name }) => name));
  const first = names.find((name) => !found.has(name));
  return first === undefined ? undefined : { reason: `the migration ${first} has not run` };
}

/** The error code of PostgreSQL or the operating system, from the innermost cause. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return codeOf(error.cause) ?? ('code' in error && typeof error.code === 'string' ? error.code : undefined);
}
