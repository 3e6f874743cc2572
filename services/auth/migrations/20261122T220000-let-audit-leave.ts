import type { Knex } from 'knex';
import { roleOf, type Migration } from '@crs/kit/data/migration';

const ROLE = roleOf('auth');
const OF_TENANT = `organization = nullif(current_setting('app.organization_id', true), '')`;

/**
 * Entries of the audit trail may be deleted when they are older than 90 days. One policy for all commands would admit younger ones. A restrictive policy
 * would not: Citus makes a permissive one of it on its workers.
 */
export const letAuditLeave: Migration = {
  name: '20261122T220000-let-audit-leave',

  async up(db: Knex) {
    await db.raw(`
      drop policy tenant on auth.audit;
      create policy tenant_reads on auth.audit for select to ${ROLE} using (${OF_TENANT});
      create policy tenant_adds on auth.audit for insert to ${ROLE} with check (${OF_TENANT});
      create policy tenant_counts on auth.audit for update to ${ROLE} using (${OF_TENANT}) with check (${OF_TENANT});
      create policy retention on auth.audit for delete to ${ROLE}
        using (current_setting('app.organization_id', true) = '*' and at < now() - interval '90 days');
      grant delete on auth.audit to ${ROLE};
    `);
  },

  async down(db: Knex) {
    await db.raw(`
      revoke delete on auth.audit from ${ROLE};
      drop policy retention on auth.audit;
      drop policy tenant_counts on auth.audit;
      drop policy tenant_adds on auth.audit;
      drop policy tenant_reads on auth.audit;
      create policy tenant on auth.audit to ${ROLE} using (${OF_TENANT}) with check (${OF_TENANT});
    `);
  },
};
