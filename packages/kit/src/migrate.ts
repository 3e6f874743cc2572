import { createHash } from 'node:crypto';
import knexFactory, { type Knex } from 'knex';
import { z } from 'zod';
import { postgresUrl, readEnvironment, type Environment } from './config.ts';

/** A step of a schema: `name` is `<UTC timestamp>-<verb>-<what>`, never changed once released. */
export interface Migration {
  name: string;
  up(db: Knex): Promise<void>;
  down(db: Knex): Promise<void>;
}

export interface MigrateOptions {
  /** A role that may create schemas and roles and owns what it creates. Not the role that the service runs under. */
  adminUrl: string;
  /** Schema and, with the prefix `crs_`, role of the service. */
  service: string;
  /** Password of the service's role; set on each run. Absent: the role is managed elsewhere and must exist. */
  password?: string;
  migrations: Migration[];
}

export function roleOf(service: string): string {
  return `crs_${service.replaceAll('-', '_')}`;
}

/** Brings a service's schema up to date. Safe to run at the same time and again. @returns the names of the steps that ran */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { service, migrations } = options;
  const db = knexFactory({ client: 'pg', connection: options.adminUrl, pool: { min: 1, max: 2 } });
  try {
    return await db.transaction(async (lock) => {
      // Ours, because knex's own lock outlives a killed migration. Roles are the cluster's, so one lock for all services.
      await lock.raw('select pg_advisory_xact_lock(?)', [0x637273]);
      if (options.password !== undefined) await ensureRole(db, roleOf(service), options.password);
      await db.raw('create schema if not exists ??', [service]);
      await db.raw('grant usage on schema ?? to ??', [service, roleOf(service)]);
      const config: Knex.MigratorConfig = {
        schemaName: service,
        tableName: 'migrations',
        migrationSource: {
          getMigrations: async () => migrations,
          getMigrationName: (migration: Migration) => migration.name,
          getMigration: async (migration: Migration) => migration,
        },
      };
      await db.migrate.forceFreeMigrationsLock(config);
      const [, names] = (await db.migrate.latest(config)) as [number, string[]];
      return names;
    });
  } finally {
    await db.destroy();
  }
}

const schema = z.object({ MIGRATE_DATABASE_URL: postgresUrl, CRS_DATABASE_PASSWORD: z.string().min(8).optional() });

/** `main` of a service's migration command. @returns the admin URL, for what else is to be done once */
export async function runMigrations(service: string, migrations: Migration[], environment: Environment): Promise<string> {
  const { MIGRATE_DATABASE_URL: adminUrl, CRS_DATABASE_PASSWORD: password } = readEnvironment(schema, environment);
  const ran = await migrate({ adminUrl, service, migrations, ...(password !== undefined && { password }) });
  process.stderr.write(`${service}: ${ran.length === 0 ? 'up to date' : `ran ${ran.join(', ')}`}\n`);
  return adminUrl;
}

async function ensureRole(db: Knex, role: string, password: string): Promise<void> {
  const { rows } = await db.raw('select 1 from pg_roles where rolname = ?', [role]);
  const verb = rows.length === 0 ? 'create' : 'alter';
  const { rows: quoted } = await db.raw(
    `select format('${verb} role %I login nosuperuser nobypassrls nocreatedb nocreaterole password %L', ?::text, ?::text) as statement`,
    [role, password],
  );
  await db.raw(quoted[0].statement);
}

/**
 * Puts a table behind the second wall: row-level security, forced, by the column `organization`. The service's role sees the rows of
 * the organization that is set for its transaction; the owner, who migrates, sees all (else a backfill would change nothing).
 */
export async function protectByTenant(db: Knex, service: string, table: string): Promise<void> {
  const names = { schema: service, table, role: roleOf(service) };
  await db.raw('alter table :schema:.:table: enable row level security', names);
  await db.raw('alter table :schema:.:table: force row level security', names);
  await db.raw('create policy owner on :schema:.:table: to current_user using (true) with check (true)', names);
  await db.raw(
    `create policy tenant on :schema:.:table: to :role:
      using (organization = (select nullif(current_setting('app.organization_id', true), '')))
      with check (organization = (select nullif(current_setting('app.organization_id', true), '')))`,
    names,
  );
}

/** A password for a service's role, derived from the installation's secret, where nobody hands one out. */
export function derivePassword(secret: string, service: string): string {
  return createHash('sha256').update(`${secret}:database:${service}`).digest('base64url');
}
