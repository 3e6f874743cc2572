import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** Makes the index of the primary key the newest one: a plan that PostgreSQL makes while the table is empty uses the newest index. */
export const makeKeyNewest: Migration = {
  name: '20261121T040000-make-key-newest',

  async up(db: Knex) {
    await db.raw('alter table entities.entities drop constraint entities_pkey');
    await db.raw('alter table entities.entities add primary key (organization, entity_id)');
  },

  async down() {
    // The columns and keys are the same; only the age of an index differs.
  },
};
