import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** The settings that decide how calls look have a version, and the time of their latest change. */
export const versionSettings: Migration = {
  name: '20261122T130000-version-settings',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await db.raw(`
      alter table auth.organizations
        add column settings_version integer not null default 1,
        add column settings_changed_at timestamptz(3) not null default now()
    `);
  },

  async down(db: Knex) {
    await db.raw('alter table auth.organizations drop column settings_version, drop column settings_changed_at');
  },
};
