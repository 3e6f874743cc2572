import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** A browser session belongs to one version of its user's sessions. It ends when the version moves. */
export const versionSessions: Migration = {
  name: '20261122T110000-version-sessions',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await db.raw('alter table auth.users add column session_version integer not null default 0');
  },

  async down(db: Knex) {
    await db.raw('alter table auth.users drop column session_version');
  },
};
