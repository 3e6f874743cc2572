import type { Knex } from 'knex';
import { roleOf, type Migration } from '@crs/kit/data/migration';

/**
 * An e-mail domain belongs to one organization. Sign-in looks the domain up before it knows the organization, so the directory stands above
 * tenants, and on Citus stays on the coordinator, as `key_directory` does.
 */
export const giveDomainsOneOwner: Migration = {
  name: '20261125T010000-give-domains-one-owner',

  async up(db: Knex) {
    await db.raw(`
      create table auth.domain_directory (
        domain text collate "C" primary key, -- in lower case
        organization text collate "C" not null
      );
      create index domain_directory_by_organization on auth.domain_directory (organization);
      grant select, insert, update, delete on auth.domain_directory to ${roleOf('auth')};
    `);
  },

  async down(db: Knex) {
    await db.raw('drop table auth.domain_directory');
  },
};
