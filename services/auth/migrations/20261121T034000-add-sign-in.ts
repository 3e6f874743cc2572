import type { Knex } from 'knex';
import { roleOf, type Migration } from '@crs/kit/data/migration';

/**
 * The stored data of the authorization server. No organization owns these tables: a client belongs to none, and the organization of a code or a
 * refresh token is known only after the row is found.
 */
export const addSignIn: Migration = {
  name: '20261121T034000-add-sign-in',

  async up(db: Knex) {
    await db.raw(`
      create table auth.oidc_payloads (
        model text collate "C" not null,
        id_digest bytea not null, -- a digest, because most ids are secrets
        payload_sealed bytea not null,
        uid_digest bytea, -- only sessions have this second id
        grant_id text collate "C",
        expires_at timestamptz(3) not null,
        consumed_at timestamptz(3),
        primary key (model, id_digest)
      );
      create index oidc_payloads_by_uid on auth.oidc_payloads (uid_digest) where uid_digest is not null;
      create index oidc_payloads_by_grant on auth.oidc_payloads (grant_id) where grant_id is not null;
      create index oidc_payloads_by_expiry on auth.oidc_payloads (expires_at);

      -- Clients that an operator has registered.
      create table auth.clients (
        client_id text collate "C" primary key,
        name text not null,
        redirect_uris text[] not null,
        secret_sealed bytea, -- null: a public client
        created_at timestamptz(3) not null default now()
      );

      -- The number of tries in a window that begins with the first one.
      create table auth.throttles (
        bucket bytea primary key,
        tries integer not null,
        resets_at timestamptz(3) not null
      );
      create index throttles_by_reset on auth.throttles (resets_at);

      alter table auth.grants add column last_used_at timestamptz(3);

      grant select, insert, update, delete on auth.oidc_payloads, auth.throttles to ${roleOf('auth')};
      grant select, insert, delete on auth.clients to ${roleOf('auth')};
    `);
  },

  async down(db: Knex) {
    await db.raw(`
      alter table auth.grants drop column last_used_at;
      drop table auth.throttles, auth.clients, auth.oidc_payloads;
    `);
  },
};
