import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

/** An organization's own OpenID provider may sign its users in; after the first time a user is known by the provider's id of them. */
export const addOidcProviders: Migration = {
  name: '20261121T035000-add-oidc-providers',

  async up(db: Knex) {
    await db.raw(`
      alter table auth.organizations
        add column oidc_issuer text,
        add column oidc_client_id text,
        add column oidc_client_secret_sealed bytea, -- null: a public client
        add column oidc_domains text[],
        add constraint oidc_provider_is_whole check (
          num_nulls(oidc_issuer, oidc_client_id, oidc_domains) in (0, 3) and (oidc_issuer is not null or oidc_client_secret_sealed is null));

      create table auth.user_identities (
        organization text collate "C" not null,
        issuer text collate "C" not null,
        subject text collate "C" not null,
        user_id uuid not null,
        created_at timestamptz(3) not null default now(),
        primary key (organization, issuer, subject),
        unique (organization, user_id, issuer),
        foreign key (organization, user_id) references auth.users on delete cascade
      );
    `);
    await protectByTenant(db, 'auth', 'user_identities');
    await db.raw(`grant select, insert, update, delete on auth.user_identities to ${roleOf('auth')}`);
  },

  async down(db: Knex) {
    await db.raw(`
      drop table auth.user_identities;
      alter table auth.organizations
        drop constraint oidc_provider_is_whole,
        drop column oidc_issuer,
        drop column oidc_client_id,
        drop column oidc_client_secret_sealed,
        drop column oidc_domains;
    `);
  },
};
