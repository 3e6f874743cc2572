import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** To import a file again should cost no parsing: a call remembers the line that it was last imported from. */
export const addLineHash: Migration = {
  name: '20261121T005000-add-line-hash',

  async up(db: Knex) {
    await db.raw('alter table calls.calls add column line_hash bytea');
    await db.raw(
      `comment on column calls.calls.line_hash is 'of the imported line as it came; null: something was changed since'`,
    );
  },

  async down(db: Knex) {
    await db.raw('alter table calls.calls drop column line_hash');
  },
};
