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
  /** Schema and, with the prefix `crs_`, role of the service. */
  service: string;
  /** Password of the role that the service logs in as; set on each run. Absent: the role is managed elsewhere and must exist. */
  password?: string | undefined;
  /** The role that the service logs in as; by default its own. Another role is made a member of it, and so has its rights. */
  loginRole?: string | undefined;
  migrations: Migration[];
  /** How long a step is tried again while others hold its locks; ten minutes by default. */
  lockTimeoutMs?: number | undefined;
}

const LOCK = 0x637273;
const TURN_EVERY_MS = 200;

/** Brings a service's schema up to date. Safe to run at the same time and again. @returns the names of the steps that ran */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { service, migrations, password, lockTimeoutMs, loginRole = roleOf(service) } = options;
  const db = knexFactory({
    client: 'pg',
    connection: adminConnection(options),
    // A second connection holds the turn.
    pool: {
      min: 0,
      max: 2,
      afterCreate: (connection: Client, done: (error?: Error) => void) => connection.query(STEP_SESSION, (error) => done(error)),
    },
  });
  try {
    return await db.transaction(async (turn) => {
      await takeTurn(turn);
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
      // The service reads this table to know whether its schema is complete.
      await db.raw('grant select on ??.migrations to ??', [service, roleOf(service)]);
      const names = await runSteps(db, service, migrations, lockTimeoutMs);
      await distributeTenants(db, service);
      return names;
    });
  } finally {
    await db.destroy();
  }
}

/**
 * One migration at a time. The lock ends with its connection, also when the process is killed. `create index concurrently` waits for all older
 * snapshots. A statement that waits for the lock would have one, and so would one with parameters until the next statement.
 */
async function takeTurn(turn: Knex.Transaction): Promise<void> {
  await turn.raw('set local idle_in_transaction_session_timeout = 0');
  for (;;) {
    const { rows } = await turn.raw<{ rows: { taken: boolean }[] }>(`select pg_try_advisory_xact_lock(${LOCK}) as taken`);
    if (rows[0]!.taken) return;
    await sleep(TURN_EVERY_MS);
  }
}

const schema = z.object({ MIGRATE_DATABASE_URL: postgresUrl, CRS_DATABASE_PASSWORD: z.string().min(8).optional() });

/** `main` of a service's migration command. @returns the admin URL, for further work that is done once */
export async function runMigrations(service: string, migrations: Migration[], environment: Environment): Promise<string> {
  const { MIGRATE_DATABASE_URL: adminUrl, CRS_DATABASE_PASSWORD: password } = readEnvironment(schema, environment);
  const ran = await migrate({ adminUrl, service, migrations, password });
  process.stderr.write(`${service}: ${ran.length === 0 ? 'up to date' : `ran ${ran.join(', ')}`}\n`);
  return adminUrl;
}

/** Uses a connection of its own, because knex's errors quote the statement, and with it the password. */
async function ensureLogin(admin: AdminDatabase, serviceRole: string, loginRole: string, password: string): Promise<void> {
  const client = new Client(adminConnection(admin));
  await client.connect();
  try {
    if (loginRole !== serviceRole) await attempt(client, CREATE_ROLE, [serviceRole]);
    await attempt(client, SET_LOGIN, [loginRole, password]);
    if (loginRole !== serviceRole) await attempt(client, GRANT_ROLE, [serviceRole, loginRole]);
  } finally {
    await client.end();
  }
}

/** Only a superuser may state the other attributes of an existing role, and hosted databases give nobody that right. */
const SET_LOGIN = `select format(case when exists (select from pg_roles where rolname = $1::text) then 'alter role %I login password %L'
  else 'create role %I login nosuperuser nobypassrls nocreatedb nocreaterole password %L' end, $1::text, $2::text) as statement`;
const CREATE_ROLE = `select format('create role %I nologin nosuperuser nobypassrls nocreatedb nocreaterole', $1::text) as statement
  where not exists (select from pg_roles where rolname = $1::text)`;
const GRANT_ROLE = `select format('grant %I to %I', $1::text, $2::text) as statement
  where not pg_has_role($2::text, $1::text, 'usage')`;

/** Runs the statement that a query makes. Roles belong to the server, our lock to the database: a migration of another database may change the same role. */
async function attempt(client: Client, makes: string, values: string[]): Promise<void> {
  const run = async () => {
    const { rows } = await client.query<{ statement: string }>(makes, values);
    if (rows.length > 0) await client.query(rows[0]!.statement);
  };
  const isRace = (error: Error) => /concurrently updated|already exists|duplicate key/.test(error.message);
  await pRetry(run, { retries: 9, minTimeout: 50, maxTimeout: 500, shouldRetry: ({ error }) => isRace(error) });
}

/** @throws Error where row-level security would not bind the role */
async function checkRole(db: Knex, role: string): Promise<void> {
  const { rows } = await db.raw('select 1 from pg_roles where rolname = ? and (rolsuper or rolbypassrls)', [role]);
  if (rows.length > 0)
    throw new Error(`Row-level security does not hold for the role ${role}: take SUPERUSER and BYPASSRLS from it.`);
}
