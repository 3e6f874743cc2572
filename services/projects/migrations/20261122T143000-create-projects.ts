import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';
import { createFeed, dropFeed } from '@crs/records/feed/tables';

/** Projects, their billing offices, and the stored responses of requests that created a project. */
export const createProjects: Migration = {
  name: '20261122T143000-create-projects',

  async up(db: Knex) {
    await db.raw(`
      create table projects.billing_offices (
        organization text collate "C" not null,
        name text collate "C" not null,
        is_default boolean not null,
        primary key (organization, name)
      );
      create unique index billing_offices_one_default on projects.billing_offices (organization) where is_default;

      create table projects.projects (
        organization text collate "C" not null,
        project_id uuid not null,
        name text,
        summary text,
        status text,
        is_archived boolean not null,
        created_at timestamptz(3) not null,
        billing_office_name text collate "C",
        primary key (organization, project_id),
        foreign key (organization, billing_office_name) references projects.billing_offices
      );
      create index projects_recent on projects.projects (organization, created_at desc, project_id desc);

      -- A request that creates a project, by its idempotency key: pending under a lease, or completed.
      create table projects.creations (
        organization text collate "C" not null,
        idempotency_key text collate "C" not null,
        body_hash bytea not null,
        project_id uuid not null,
        lease_id uuid not null,
        lease_until timestamptz(3) not null,
        response jsonb,
        created_at timestamptz(3) not null default now(),
        primary key (organization, idempotency_key)
      );
      create index creations_by_age on projects.creations (organization, created_at);
    `);
    for (const table of ['billing_offices', 'projects', 'creations']) await protectByTenant(db, 'projects', table);
    await db.raw(
      `grant select, insert, update, delete on projects.billing_offices, projects.projects, projects.creations to ${roleOf('projects')}`,
    );
    await createFeed(db, 'projects', 'uuid');
  },

  async down(db: Knex) {
    await dropFeed(db, 'projects');
    await db.raw('drop table projects.creations, projects.projects, projects.billing_offices');
  },
};
