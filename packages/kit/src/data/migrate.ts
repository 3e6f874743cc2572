import { setTimeout as sleep } from 'node:timers/promises';
import knexFactory, { type Knex } from 'knex';
import pRetry from 'p-retry';
import { Client } from 'pg';
import { z } from 'zod';
import { postgresUrl, readEnvironment, type Environment } from '../process/config.ts';
import { distributeTenants, passScopeOn } from './citus.ts';
import { adminConnection, type AdminDatabase } from './connection.ts';
import { roleOf, STEP_SESSION, type Migration } from './migration.ts';
import { runSteps } from './run-steps.ts';

export interface MigrateOptions extends AdminDatabase {
  /** The schema's name; with the prefix `crs_`, that of the service's role. */
  service: string;
  /** Password of the login role, set on each run. Absent: the role is managed elsewhere and must exist. */
  password?: string | undefined;
  /** The role that the service logs in as; by default its own. Another role becomes a member of it. */
  loginRole?: string | undefined;
  migrations: Migration[];
  /** How long a step is retried while others hold its locks; ten minutes by default. */
  lockRetryMs?: number | undefined;
}

const ADVISORY_LOCK = 0x637273;
const POLL_LOCK_EVERY_MS = 200;

/** Migrates a service's schema to the latest version. Idempotent, and safe to run concurrently. @returns the names of the steps that ran */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { service, migrations, password, lockRetryMs, loginRole = roleOf(service) } = options;
  const db = knexFactory({
    client: 'pg',
    connection: adminConnection(options),
    // A second connection holds the advisory lock.
    pool: {
      min: 0,
      max: 2,
      afterCreate: (connection: Client, done: (error?: Error) => void) => connection.query(STEP_SESSION, (error) => done(error)),
    },
  });
  try {
    return await db.transaction(async (transaction) => {
      await lockMigrations(transaction);
      if (password !== undefined) await ensureLogin(options, roleOf(service), loginRole, password);
      for (const role of new Set([roleOf(service), loginRole])) {
        await checkRole(db, role);
        await passScopeOn(db, role);
      }
      await db.raw('create schema if not exists ??', [service]);
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

const schema = z.object({ MIGRATE_DATABASE_URL: postgresUrl, CRS_DATABASE_PASSWORD: z.string().min(8).optional() });

/** Entry point of a service's migration command. @returns the admin URL, for further one-time work */
export async function runMigrations(service: string, migrations: Migration[], environment: Environment): Promise<string> {
  const { MIGRATE_DATABASE_URL: adminUrl, CRS_DATABASE_PASSWORD: password } = readEnvironment(schema, environment);
  const ran = await migrate({ adminUrl, service, migrations, password });
  process.stderr.write(`${service}: ${ran.length === 0 ? 'up to date' : `ran ${ran.join(', ')}`}\n`);
  return adminUrl;
}

/** Doesn't use knex, because its errors quote the statement, and with it the password. */
async function ensureLogin(admin: AdminDatabase, serviceRole: string, loginRole: string, password: string): Promise<void> {
  const client = new Client(adminConnection(admin));
  await client.connect();
  try {
    if (loginRole !== serviceRole) await runGenerated(client, CREATE_ROLE, [serviceRole]);
    await runGenerated(client, SET_LOGIN, [loginRole, password]);
    if (loginRole !== serviceRole) await runGenerated(client, GRANT_ROLE, [serviceRole, loginRole]);
  } finally {
    await client.end();
  }
}

/** Doesn't restate the other attributes of an existing role: that takes a superuser, whom hosted databases don't offer. */
const SET_LOGIN = `select format(case when exists (select from pg_roles where rolname = $1::text) then 'alter role %I login password %L'
  else 'create role %I login nosuperuser nobypassrls nocreatedb nocreaterole password %L' end, $1::text, $2::text) as statement`;
const CREATE_ROLE = `select format('create role %I nologin nosuperuser nobypassrls nocreatedb nocreaterole', $1::text) as statement
  where not exists (select from pg_roles where rolname = $1::text)`;
const GRANT_ROLE = `select format('grant %I to %I', $1::text, $2::text) as statement
  where not pg_has_role($2::text, $1::text, 'usage')`;

/** Runs the statement that a query generates. Retries it, because a migration of another database on this server may change the same role. */
async function runGenerated(client: Client, generator: string, values: string[]): Promise<void> {
  const run = async () => {
    const { rows } = await client.query<{ statement: string }>(generator, values);
    if (rows.length > 0) await client.query(rows[0]!.statement);
  };
  const isRace = (error: Error) => /concurrently updated|already exists|duplicate key/.test(error.message);
  await pRetry(run, { retries: 9, minTimeout: 50, maxTimeout: 500, shouldRetry: ({ error }) => isRace(error) });
}

/** @throws Error if the role bypasses row-level security */
async function checkRole(db: Knex, role: string): Promise<void> {
  const { rows } = await db.raw('select 1 from pg_roles where rolname = ? and (rolsuper or rolbypassrls)', [role]);
  if (rows.length > 0)
    throw new Error(`Row-level security does not hold for the role ${role}: take SUPERUSER and BYPASSRLS from it.`);
}
