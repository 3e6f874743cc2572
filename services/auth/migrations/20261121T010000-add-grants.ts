import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

/** What users have allowed assistants: each access token belongs to a grant, and is good only while the grant is. */
export const addGrants: Migration = {
  name: '20261121T010000-add-grants',

  async up(db: Knex) {
    await db.raw(`
      create table auth.grants (
        organization text collate "C" not null,
        grant_id text collate "C" not null,
        user_id uuid not null,
        client text not null, -- who holds the token, for people
        scopes text[] not null,
        created_at timestamptz(3) not null default now(),
        expires_at timestamptz(3) not null,
        revoked_at timestamptz(3),
        primary key (organization, grant_id),
        foreign key (organization, user_id) references auth.users on delete cascade
      );
      create index grants_by_user on auth.grants (organization, user_id);

      -- Keys that access tokens are signed with. Unlike caller keys they stay: tokens may live for years.
      create table auth.token_keys (
        key_id text collate "C" primary key,
        public_jwk text not null,
        private_key_sealed bytea not null,
        created_at timestamptz(3) not null default now()
      );
    `);
    await protectByTenant(db, 'auth', 'grants');
    await db.raw(`
      grant select, insert, update, delete on auth.grants to ${roleOf('auth')};
      grant select, insert on auth.token_keys to ${roleOf('auth')};
    `);
  },

  async down(db: Knex) {
    await db.raw('drop table auth.token_keys, auth.grants');
  },
};
