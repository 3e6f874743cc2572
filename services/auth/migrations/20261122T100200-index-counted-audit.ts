import type { Knex } from 'knex';
import { buildIndex, type Migration } from '@crs/kit/data/migration';

/** Finds the entry that counts a refusal. */
export const indexCountedAudit: Migration = {
  name: '20261122T100200-index-counted-audit',

  outsideTransaction: true,

  async up(db: Knex) {
    const on = 'auth.audit (organization, counted_as, counted_until) where counted_as is not null';
    await buildIndex(db, 'auth', 'audit_counted', on, 'unique');
  },

  async down(db: Knex) {
    await db.raw(`drop index auth.audit_counted`);
  },
};
