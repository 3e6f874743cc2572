import type { Knex } from 'knex';
import { simplifyPolicy, type Migration } from '@crs/kit/data/migration';

const TABLES = ['organizations', 'users', 'projects', 'project_roles', 'api_keys', 'audit', 'grants', 'user_identities'];

/**
 * Citus refuses policies with a subquery, and foreign keys that set a column to null. The policies show the same rows without it. Whoever deletes a
 * user now clears the creator of the user's projects first.
 */
export const simplifyPolicies: Migration = {
  name: '20261122T140000-simplify-policies',

  async up(db: Knex) {
    await db.raw(`set local lock_timeout = '5s'`);
    for (const table of TABLES) await simplifyPolicy(db, 'auth', table);
    for (const table of ['organizations', 'audit']) {
      await db.raw(`alter policy above_tenants on auth.?? using (current_setting('app.organization_id', true) = '*')`, [table]);
    }
    await replaceCreatorKey(db, '');
  },

  async down(db: Knex) {
    await replaceCreatorKey(db, 'on delete set null (created_by)');
  },
};

async function replaceCreatorKey(db: Knex, onDelete: string): Promise<void> {
  await db.raw(`
    alter table auth.projects
      drop constraint projects_organization_created_by_fkey,
      add foreign key (organization, created_by) references auth.users ${onDelete} not valid;
    alter table auth.projects validate constraint projects_organization_created_by_fkey;
  `);
}
