import type { Knex } from 'knex';
import { simplifyPolicy, type Migration } from '@crs/kit/data/migration';

/** Citus refuses policies with a subquery. The policies show the same rows without it. */
export const simplifyPolicies: Migration = {
  name: '20261122T140000-simplify-policies',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await simplifyPolicy(db, 'entities', 'entities');
  },

  async down() {
    // The policies show the same rows.
  },
};
