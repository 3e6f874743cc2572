import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** When unauthenticated clients store too many authorizations and clients, those that a browser came back for are deleted last. */
export const noteBrowsers: Migration = {
  name: '20261125T011000-note-browsers',

  async up(db: Knex) {
    await db.raw('alter table auth.oidc_payloads add column browser_returned boolean not null default false');
  },

  async down(db: Knex) {
    await db.raw('alter table auth.oidc_payloads drop column browser_returned');
  },
};
