import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/**
 * Finds the entry that counts a refusal. No entry is in the index when it is built, so that takes one scan of the trail. Meanwhile writers wait: a
 * step runs in a transaction, where no index is built concurrently.
 */
export const indexCountedAudit: Migration = {
  name: '20261122T100200-index-counted-audit',

  async up(db: Knex) {
    await db.raw(`
      set local lock_timeout = '5s';
      -- squawk-ignore require-concurrent-index-creation
      create unique index audit_counted on auth.audit (organization, counted_as, counted_until) where counted_as is not null;
    `);
  },

  async down(db: Knex) {
    await db.raw(`drop index auth.audit_counted`);
  },
};
