import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/**
 * The settings of a connection that runs steps. While a step waits for a lock, all others wait behind it, so it gives up soon and is tried again later.
 * By the second setting, a server that waits for a lock notices that its client was killed.
 */
export const STEP_SESSION = `set lock_timeout = '1s'; set client_connection_check_interval = '1s'`;

/** A step of a schema. `name` is `<UTC timestamp>-<verb>-<object>`; a released step never changes. */
export interface Migration {
  name: string;
  /** For indexes that are built while others write, and for long work in parts. Such a step may be interrupted anywhere, and is then run again from its start. */
  outsideTransaction?: true;
  up(db: Knex): Promise<void>;
  down(db: Knex): Promise<void>;
}

export function roleOf(service: string): string {
  return `crs_${service.replaceAll('-', '_')}`;
}

/**
 * Forces row-level security on a table, by its column `organization`. The service's role sees the rows of the organization that its transaction has
 * set. The owner, which runs the migrations, sees all rows, or else a backfill would change none.
 */
export async function protectByTenant(db: Knex, service: string, table: string): Promise<void> {
  const names = { schema: service, table, role: roleOf(service) };
  await db.raw('alter table :schema:.:table: enable row level security', names);
  await db.raw('alter table :schema:.:table: force row level security', names);
  await db.raw('create policy owner on :schema:.:table: to current_user using (true) with check (true)', names);
  await db.raw(`create policy tenant on :schema:.:table: to :role: using (${OF_TENANT}) with check (${OF_TENANT})`, names);
}

/** Citus takes no policy with a subquery. */
const OF_TENANT = `organization = nullif(current_setting('app.organization_id', true), '')`;

/** The index waits for every transaction that is older than itself. Nobody waits behind it meanwhile. */
const INDEX_PATIENCE = '10min';

/**
 * Builds an index while others write, in a step outside a transaction. What an interrupted run left of it is built anew.
 * @param on table and columns, as in `auth.audit (organization, at)`
 */
export async function buildIndex(db: Knex, schema: string, index: string, on: string, unique?: 'unique'): Promise<void> {
  const { rows } = await db.raw<{ rows: { valid: boolean }[] }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass(?)',
    [`${schema}.${index}`],
  );
  if (rows[0]?.valid) return;
  await db.raw(`set lock_timeout = '${INDEX_PATIENCE}'`);
  try {
    if (rows.length > 0) await db.raw('drop index concurrently ??.??', [schema, index]);
    await db.raw(`create ${unique === undefined ? '' : 'unique '}index concurrently if not exists ?? on ${on}`, [index]);
  } finally {
    await db.raw(STEP_SESSION);
  }
}

/** A password for a service's role, derived from the installation's secret, for installations where nobody gives one. */
export function derivePassword(secret: string, service: string): string {
  return createHash('sha256').update(`${secret}:database:${service}`).digest('base64url');
}

/** The URL of a database for a service's role. The parameters `user` and `password` are removed, because the driver would prefer them. */
export function serviceUrl(baseUrl: string, service: string, password: string): string {
  const url = new URL(baseUrl);
  for (const name of ['user', 'password']) url.searchParams.delete(name);
  url.username = roleOf(service);
  url.password = password;
  return url.href;
}
