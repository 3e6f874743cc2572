import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** As that of calls: a plan that is made while the table is empty uses its newest index. */
export const makeKeyNewest: Migration = {
  name: '20261121T040000-make-key-newest',

  async up(db: Knex) {
    await db.raw('alter table entities.entities drop constraint entities_pkey');
    await db.raw('alter table entities.entities add primary key (organization, entity_id)');
  },

  async down() {
    // The table is the same but for the age of an index.
  },
};
