import { createHash } from 'node:crypto';
import type { Knex } from 'knex';

/** A step of a schema: `name` is `<UTC timestamp>-<verb>-<what>`, never changed once released. */
export interface Migration {
  name: string;
  up(db: Knex): Promise<void>;
  down(db: Knex): Promise<void>;
}

export function roleOf(service: string): string {
  return `crs_${service.replaceAll('-', '_')}`;
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
