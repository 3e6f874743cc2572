import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { OWNER_ROLE } from './connection.ts';

/**
 * Session settings for migrations. Other work queues behind a step that waits for a lock, so the step times out soon and is retried later. The second
 * setting lets a server that waits for a lock notice that its client was killed.
 */
export const STEP_SESSION = `set lock_timeout = '1s'; set client_connection_check_interval = '1s'`;

/** A step of a schema. `name` is `<UTC timestamp>-<verb>-<object>`; a released step never changes. */
export interface Migration {
  name: string;
  /** For concurrent index builds, and long work in parts. Such a step may be interrupted anywhere, and then runs again from its start. */
  outsideTransaction?: true;
  up(db: Knex): Promise<void>;
  down(db: Knex): Promise<void>;
}

export function roleOf(service: string): string {
  return `crs_${service.replaceAll('-', '_')}`;
}

/**
 * Forces row-level security on a table, by its column `organization`. The service's role sees the rows of the organization that its transaction has
 * set. The owner, who runs the migrations, sees all rows, because backfills change them.
 */
export async function protectByTenant(db: Knex, service: string, table: string): Promise<void> {
  const names = { schema: service, table, role: roleOf(service), owner: OWNER_ROLE };
  await db.raw('alter table :schema:.:table: enable row level security', names);
  await db.raw('alter table :schema:.:table: force row level security', names);
  await db.raw('create policy owner on :schema:.:table: to :owner: using (true) with check (true)', names);
  await db.raw(`create policy tenant on :schema:.:table: to :role: using (${IS_TENANT}) with check (${IS_TENANT})`, names);
}

/** Without a subquery, which Citus refuses in policies. */
const IS_TENANT = `organization = nullif(current_setting('app.organization_id', true), '')`;

/** A concurrent build waits for every older transaction. Nothing queues behind it meanwhile. */
const INDEX_LOCK_TIMEOUT = '10min';

/**
 * Builds an index concurrently, in a step outside a transaction. Replaces an invalid index that an interrupted run left behind.
 * @param on table and columns, as in `auth.audit (organization, at)`
 */
export async function buildIndex(db: Knex, schema: string, index: string, on: string, unique?: 'unique'): Promise<void> {
  const { rows } = await db.raw<{ rows: { valid: boolean }[] }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass(?)',
    [`${schema}.${index}`],
  );
  if (rows[0]?.valid) return;
  await db.raw(`set lock_timeout = '${INDEX_LOCK_TIMEOUT}'`);
  try {
    if (rows.length > 0) await db.raw('drop index concurrently ??.??', [schema, index]);
    await db.raw(`create ${unique === undefined ? '' : 'unique '}index concurrently if not exists ?? on ${on}`, [index]);
  } finally {
    await db.raw(STEP_SESSION);
  }
}

/** Derives the password of a service's role from the installation's secret, for installations without explicit passwords. */
export function derivePassword(secret: string, service: string): string {
  return createHash('sha256').update(`${secret}:database:${service}`).digest('base64url');
}

/** Returns the database URL for a service's role. Removes the parameters `user` and `password`, which the driver would prefer. */
export function serviceUrl(baseUrl: string, service: string, password: string): string {
  const url = new URL(baseUrl);
  for (const name of ['user', 'password']) url.searchParams.delete(name);
  url.username = roleOf(service);
  url.password = password;
  return url.href;
}
