import type { Knex } from 'knex';
import type { Migration } from '@crs/kit/data/migration';

/** Rights of operators. The defaults are the rights that every operator had before: an admin of all organizations, without an end. */
export const giveOperatorsRoles: Migration = {
  name: '20261122T100000-give-operators-roles',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    await db.raw(`
      alter table auth.operators
        add column role text not null default 'admin',
        add column organizations text[] not null default '{}', -- the ones that the operator is bound to; none: all
        add column expires_at timestamptz(3);
      alter table auth.operators add constraint operators_role_is_known
        check (role in ('admin', 'manager', 'importer', 'viewer', 'auditor')) not valid;
    `);
  },

  async down(db: Knex) {
    await db.raw(`
      alter table auth.operators
        drop constraint operators_role_is_known,
        drop column role,
        drop column organizations,
        drop column expires_at;
    `);
  },
};
