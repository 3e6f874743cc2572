import { setTimeout as sleep } from 'node:timers/promises';
import knexFactory, { type Knex } from 'knex';
import type { Client } from 'pg';
import { z } from 'zod';
import { manageRoles, postgresUrl, readEnvironment, type Environment } from '../process/config.ts';
import { distributeTenants } from './citus.ts';
import { adminConnection, BECOME_OWNER, type AdminDatabase } from './connection.ts';
import { roleOf, STEP_SESSION, type Migration } from './migration.ts';
import { ensureRoles, ensureSchema, type RolesOptions } from './roles.ts';
import { runSteps } from './run-steps.ts';

export interface SchemaOptions extends AdminDatabase {
  /** The schema's name; with the prefix `crs_`, that of the service's role. */
  service: string;
  migrations: Migration[];
  /** How long a step is retried while others hold its locks; ten minutes by default. */
  lockRetryMs?: number | undefined;
}

export interface MigrateOptions extends SchemaOptions, RolesOptions {
  /** Password of the service's role. Absent: the role is managed elsewhere and must exist. */
  password?: string | undefined;
}

const ADVISORY_LOCK = 0x637273;
const POLL_LOCK_EVERY_MS = 200;

/** Ensures a service's roles, and migrates its schema. Idempotent, and safe to run concurrently. @returns the names of the steps that ran */
export async function migrate({ password, ...options }: MigrateOptions): Promise<string[]> {
  const role = roleOf(options.service);
  await ensureRoles(options, [{ role, login: role, password }]);
  return migrateSchema(options);
}

/** Migrates a service's schema to the latest version, as the owner of the schemas. The roles must exist. @returns the names of the steps that ran */
export async function migrateSchema(options: SchemaOptions): Promise<string[]> {
  const { service, migrations, lockRetryMs } = options;
  await ensureSchema(options, service);
  const db = knexFactory({
    client: 'pg',
    connection: adminConnection(options),
    // A second connection holds the advisory lock.
    pool: {
      min: 0,
      max: 2,
      afterCreate: (connection: Client, done: (error?: Error) => void) =>
        connection.query(`${BECOME_OWNER}; ${STEP_SESSION}`, (error) => done(error)),
    },
  });
  try {
    return await db.transaction(async (transaction) => {
      await lockMigrations(transaction);
      await db.raw('grant usage on schema ?? to ??', [service, roleOf(service)]);
      await db.raw(
        'create table if not exists ??.migrations (name varchar(255) primary key, ran_at timestamptz(3) not null default now())',
        [service],
      );
      // A service waits until this table lists all migrations.
      await db.raw('grant select on ??.migrations to ??', [service, roleOf(service)]);
      const names = await runSteps(db, service, migrations, lockRetryMs);
      await distributeTenants(db, service);
      return names;
    });
  } finally {
    await db.destroy();
  }
}

/**
 * Lets one migration run at a time. The lock ends with its connection, even if the process is killed. It is polled, by a statement without parameters,
 * because `create index concurrently` waits for all older snapshots, and a statement that waits for the lock would hold one.
 */
async function lockMigrations(transaction: Knex.Transaction): Promise<void> {
  await transaction.raw('set local idle_in_transaction_session_timeout = 0');
  for (;;) {
    const { rows } = await transaction.raw<{ rows: { taken: boolean }[] }>(
      `select pg_try_advisory_xact_lock(${ADVISORY_LOCK}) as taken`,
    );
    if (rows[0]!.taken) return;
    await sleep(POLL_LOCK_EVERY_MS);
  }
}

const schema = z.object({
  MIGRATE_DATABASE_URL: postgresUrl,
  CRS_DATABASE_PASSWORD: z.string().min(8).optional(),
  CRS_MANAGE_ROLES: manageRoles,
});

/** Entry point of a service's migration command. @returns the admin URL, for further one-time work */
export async function runMigrations(service: string, migrations: Migration[], environment: Environment): Promise<string> {
  const env = readEnvironment(schema, environment);
  const { MIGRATE_DATABASE_URL: adminUrl, CRS_DATABASE_PASSWORD: password } = env;
  const ran = await migrate({ adminUrl, service, migrations, password, manageRoles: env.CRS_MANAGE_ROLES });
  process.stderr.write(`${service}: ${ran.length === 0 ? 'up to date' : `ran ${ran.join(', ')}`}\n`);
  return adminUrl;
}
