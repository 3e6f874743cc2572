import type { Knex } from 'knex';
import { roleOf, type Migration } from '@crs/kit/data/migration';

/**
 * Outcomes, changed settings and addresses of audited actions. Equal refusals within a minute share an entry, which counts them: the count is the
 * one thing in the trail that the service's role may change.
 */
export const addAuditOutcomes: Migration = {
  name: '20261122T100100-add-audit-outcomes',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await db.raw(`
      alter table auth.audit
        add column outcome text not null default 'done',
        add column changes jsonb,
        add column address text,
        add column count integer not null default 1,
        add column counted_as bytea, -- a digest of all that the entry's actions have in common
        add column counted_until timestamptz(3);
      grant update (count) on auth.audit to ${roleOf('auth')};
    `);
  },

  async down(db: Knex) {
    await db.raw(`
      revoke update (count) on auth.audit from ${roleOf('auth')};
      alter table auth.audit
        drop column outcome,
        drop column changes,
        drop column address,
        drop column count,
        drop column counted_as,
        drop column counted_until;
    `);
  },
};
