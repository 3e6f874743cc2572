import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';

const ROLE = roleOf('auth');

/**
 * Tenants, people, keys and project roles. Ids are unique within an organization, which comes first in every key. Three tables stand
 * above tenants and hold no tenant content: `key_directory`, `caller_keys` and `operators`.
 */
export const createTenants: Migration = {
  name: '20261120T233000-create-tenants',

  async up(db: Knex) {
    await db.raw(`
      create table auth.organizations (
        organization text collate "C" primary key check (organization ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
        name text,
        write_surface boolean not null default false,
        anonymize_interviewees boolean not null default false,
        allowed_fields text[], -- null: the default set
        rate_limit_requests integer not null default 600 check (rate_limit_requests > 0),
        rate_limit_period_seconds integer not null default 60 check (rate_limit_period_seconds > 0),
        tool_rate_limit_requests integer not null default 120 check (tool_rate_limit_requests > 0),
        tool_rate_limit_period_seconds integer not null default 60 check (tool_rate_limit_period_seconds > 0),
        created_at timestamptz(3) not null default now()
      );

      create table auth.users (
        organization text collate "C" not null references auth.organizations on delete cascade,
        user_id uuid not null,
        email text not null,
        email_folded text collate "C" not null,
        name text,
        password_hash text,
        disabled_at timestamptz(3),
        visibility_version bigint not null default 1,
        created_at timestamptz(3) not null default now(),
        primary key (organization, user_id),
        unique (organization, email_folded)
      );

      create table auth.projects (
        organization text collate "C" not null references auth.organizations on delete cascade,
        project_id uuid not null,
        created_by uuid,
        primary key (organization, project_id),
        foreign key (organization, created_by) references auth.users on delete set null (created_by)
      );
      create index projects_by_creator on auth.projects (organization, created_by) where created_by is not null;

      create table auth.project_roles (
        organization text collate "C" not null,
        project_id uuid not null,
        user_id uuid not null,
        role text not null check (role in ('lead', 'member')),
        primary key (organization, user_id, project_id, role),
        foreign key (organization, project_id) references auth.projects on delete cascade,
        foreign key (organization, user_id) references auth.users on delete cascade
      );
      create index project_roles_by_project on auth.project_roles (organization, project_id);

      create table auth.api_keys (
        organization text collate "C" not null references auth.organizations on delete cascade,
        key_id text collate "C" not null,
        digest bytea not null,
        prefix text not null,
        label text not null,
        read_only boolean not null,
        created_at timestamptz(3) not null default now(),
        expires_at timestamptz(3),
        revoked_at timestamptz(3),
        last_used_at timestamptz(3),
        primary key (organization, key_id)
      );

      create table auth.audit (
        organization text collate "C" not null, -- '*': above tenants
        audit_id bigint generated always as identity,
        at timestamptz(3) not null default now(),
        actor text not null,
        action text not null,
        target text not null,
        primary key (organization, audit_id)
      );
      create index audit_by_time on auth.audit (audit_id desc);

      -- Whose a key is, before there is a tenant to ask within.
      create table auth.key_directory (
        digest bytea primary key,
        organization text collate "C" not null,
        key_id text collate "C" not null
      );

      create table auth.caller_keys (
        key_id text collate "C" primary key,
        public_jwk text not null,
        private_key_sealed bytea not null,
        sign_from timestamptz(3) not null,
        created_at timestamptz(3) not null default now()
      );

      create table auth.operators (
        name text collate "C" not null,
        digest bytea primary key,
        created_at timestamptz(3) not null default now(),
        revoked_at timestamptz(3)
      );
      create unique index operators_live_by_name on auth.operators (name) where revoked_at is null;
    `);
    for (const table of ['organizations', 'users', 'projects', 'project_roles', 'api_keys', 'audit']) {
      await protectByTenant(db, 'auth', table);
    }
    // An operator's token for no organization lists organizations and reads the whole audit trail; '*' can be no organization's id.
    for (const table of ['organizations', 'audit']) {
      await db.raw(
        `create policy above_tenants on auth.?? for select to ?? using ((select current_setting('app.organization_id', true)) = '*')`,
        [table, ROLE],
      );
    }
    await db.raw(`
      grant select, insert, update, delete on
        auth.organizations, auth.users, auth.projects, auth.project_roles, auth.api_keys, auth.key_directory, auth.caller_keys to ${ROLE};
      grant select, insert, update on auth.operators to ${ROLE};
      grant select, insert on auth.audit to ${ROLE};
    `);
  },

  async down(db: Knex) {
    await db.raw(`drop table auth.operators, auth.caller_keys, auth.key_directory, auth.audit, auth.api_keys,
      auth.project_roles, auth.projects, auth.users, auth.organizations`);
  },
};
