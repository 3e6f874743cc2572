import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/**
 * While the table is empty all its indexes cost the same, and of these the planner takes the newest. A plan that is made then, as for
 * checking a foreign key, is kept by its connection until the table is analyzed: by any index but the primary key's, it reads all of the
 * organization for each row.
 */
export const makeKeyNewest: Migration = {
  name: '20261121T040000-make-key-newest',

  async up(db: Knex) {
    const children = ['transcripts', 'notes'];
    for (const table of children) await db.raw(`alter table calls.${table} drop constraint ${table}_organization_call_id_fkey`);
    await db.raw('alter table calls.calls drop constraint calls_pkey');
    await db.raw('alter table calls.calls add primary key (organization, call_id)');
    for (const table of children) {
      await db.raw(`alter table calls.${table} add foreign key (organization, call_id) references calls.calls on delete cascade`);
    }
  },

  async down() {
    // The table is the same but for the age of an index.
  },
};
