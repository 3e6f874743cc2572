import type { Knex } from 'knex';
import { roleOf, type Migration } from '@crs/kit/data/migration';

/**
 * Signing keys can be retired, and stored values can be sealed anew. Token keys get the times that decide when they retire. Replicas of an earlier
 * release go on reading and writing the same columns.
 */
export const retireSigningKeys: Migration = {
  name: '20261122T120000-retire-signing-keys',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await db.raw(`
      alter table auth.token_keys
        add column sign_from timestamptz(3) not null default now(),
        add column protects_until timestamptz(3); -- when the last token of \`crs token create\` that it signed expires

      update auth.token_keys set sign_from = created_at;

      -- Without private keys.
      create table auth.retired_keys (
        key_id text collate "C" primary key,
        sign_from timestamptz(3) not null,
        retired_at timestamptz(3) not null default now()
      );

      grant select, insert on auth.retired_keys to ${roleOf('auth')};
      grant update, delete on auth.token_keys to ${roleOf('auth')};
      grant update on auth.clients to ${roleOf('auth')};
    `);
    // Apart from the update, because on Citus the two tables are of different kinds.
    const { rows } = await db.raw(`select max(expires_at) as last from auth.grants where client = 'crs token create'`);
    await db.raw('update auth.token_keys set protects_until = ?', [rows[0].last]);
  },

  async down(db: Knex) {
    await db.raw(`
      revoke update on auth.clients from ${roleOf('auth')};
      revoke update, delete on auth.token_keys from ${roleOf('auth')};
      drop table auth.retired_keys;
      alter table auth.token_keys drop column protects_until, drop column sign_from;
    `);
  },
};
