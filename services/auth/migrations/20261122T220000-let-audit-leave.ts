import type { Knex } from 'knex';
import { roleOf, type Migration } from '@crs/kit/data/migration';

const ROLE = roleOf('auth');

/** Old entries of the audit trail may be deleted. The restrictive policy keeps younger ones, whatever a statement of the service says. */
export const letAuditLeave: Migration = {
  name: '20261122T220000-let-audit-leave',

  async up(db: Knex) {
    await db.raw(`
      create policy only_old on auth.audit as restrictive for delete to ${ROLE} using (at < now() - interval '90 days');
      create policy above_tenants_deletes on auth.audit for delete to ${ROLE} using (current_setting('app.organization_id', true) = '*');
      grant delete on auth.audit to ${ROLE};
    `);
  },

  async down(db: Knex) {
    await db.raw(`
      revoke delete on auth.audit from ${ROLE};
      drop policy above_tenants_deletes on auth.audit;
      drop policy only_old on auth.audit;
    `);
  },
};
