import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** A deletion spans services: from its first step on, its target is neither shown nor resolved; its last step removes the row. */
export const markErasures: Migration = {
  name: '20261121T002000-mark-erasures',

  async up(db: Knex) {
    await db.raw(`
      alter table auth.organizations add column erasing_at timestamptz(3);
      alter table auth.users add column erasing_at timestamptz(3);
      alter table auth.projects add column erasing_at timestamptz(3);
      create index key_directory_by_organization on auth.key_directory (organization);
    `);
  },

  async down(db: Knex) {
    await db.raw(`
      drop index auth.key_directory_by_organization;
      alter table auth.projects drop column erasing_at;
      alter table auth.users drop column erasing_at;
      alter table auth.organizations drop column erasing_at;
    `);
  },
};
