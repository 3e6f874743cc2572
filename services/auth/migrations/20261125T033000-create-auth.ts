import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';
import { AUDIT, AUDIT_POLICIES } from './create-auth/audit.ts';
import { AUTHORIZATION_SERVER } from './create-auth/authorization-server.ts';
import { CREDENTIALS } from './create-auth/credentials.ts';
import { GROUPS } from './create-auth/groups.ts';
import { OPERATORS } from './create-auth/operators.ts';
import { ORGANIZATIONS } from './create-auth/organizations.ts';
import { PEOPLE } from './create-auth/people.ts';
import { PROJECTS } from './create-auth/projects.ts';

/** In this order, because some tables have foreign keys to earlier ones. */
const SUBJECTS = [ORGANIZATIONS, PEOPLE, PROJECTS, GROUPS, CREDENTIALS, AUDIT, OPERATORS, AUTHORIZATION_SERVER];
const ROLE = roleOf('auth');
const TENANT_TABLES = [
  'organizations',
  'users',
  'user_identities',
  'projects',
  'project_roles',
  'groups',
  'group_members',
  'group_maps',
  'api_keys',
  'scim_tokens',
  'audit',
  'grants',
];

/**
 * Tenants, people, keys and project roles. Ids are unique within an organization, which comes first in every key. `key_directory`,
 * `scim_token_directory`, `domain_directory`, `assertion_issuers` and the tables of `OPERATORS` and `AUTHORIZATION_SERVER` stand above tenants and
 * hold no tenant content.
 */
export const createAuth: Migration = {
  name: '20261125T033000-create-auth',

  async up(db: Knex) {
    for (const tables of SUBJECTS) await db.raw(tables);
    for (const table of TENANT_TABLES) await protectByTenant(db, 'auth', table);
    // An operator's token for no organization lists organizations and reads the whole audit trail; '*' can be no organization's id.
    for (const table of ['organizations', 'audit']) {
      await db.raw(
        `create policy above_tenants on auth.?? for select to ?? using (current_setting('app.organization_id', true) = '*')`,
        [table, ROLE],
      );
    }
    await db.raw(AUDIT_POLICIES);
    await db.raw(`
      grant select, insert, update, delete on
        auth.organizations, auth.users, auth.user_identities, auth.projects, auth.project_roles, auth.groups, auth.group_members, auth.group_maps,
        auth.api_keys, auth.key_directory, auth.scim_tokens, auth.scim_token_directory, auth.domain_directory, auth.assertion_issuers, auth.grants, auth.caller_keys, auth.token_keys, auth.clients, auth.oidc_payloads, auth.throttles to ${ROLE};
      grant select, insert, update on auth.operators to ${ROLE};
      grant select on auth.programs to ${ROLE};
      grant select, insert, update (count), delete on auth.audit to ${ROLE};
      grant select, insert on auth.retired_keys to ${ROLE};
    `);
  },

  async down(db: Knex) {
    await db.raw(`drop table auth.programs, auth.throttles, auth.oidc_payloads, auth.clients, auth.operators, auth.retired_keys, auth.token_keys, auth.caller_keys,
      auth.grants, auth.assertion_issuers, auth.domain_directory, auth.scim_token_directory, auth.key_directory, auth.audit, auth.scim_tokens,
      auth.api_keys, auth.group_maps, auth.group_members, auth.groups, auth.project_roles, auth.projects, auth.user_identities, auth.users,
      auth.organizations`);
  },
};
