import type { Knex } from 'knex';
import { protectByTenant, roleOf, type Migration } from '@crs/kit/data/migration';
import { createFeed, dropFeed } from '@crs/records/feed/tables';

/** Companies, products and the like, recognized in the calls of a project. */
export const createEntities: Migration = {
  name: '20261122T143000-create-entities',

  async up(db: Knex) {
    await db.raw(`
      create table entities.entities (
        organization text collate "C" not null,
        entity_id uuid not null,
        project_id uuid not null,
        name text,
        entity_type text collate "C",
        category text,
        competitor_tier text,
        is_competitor boolean,
        description text,
        overview text,
        domain text,
        created_at timestamptz(3) not null,
        record_hash bytea not null
      );
      comment on column entities.entities.record_hash is 'hash of the whole record: importing it again changes nothing';
      -- For a project's list.
      create index entities_of_project on entities.entities (organization, project_id, created_at desc, entity_id desc);
      -- For the organization's list.
      create index entities_created on entities.entities (organization, created_at desc, entity_id desc);
      -- Created last, because plans made while the table is empty use the newest index.
      -- squawk-ignore adding-serial-primary-key-field
      alter table entities.entities add primary key (organization, entity_id);
    `);
    await protectByTenant(db, 'entities', 'entities');
    await db.raw(`grant select, insert, update, delete on entities.entities to ${roleOf('entities')}`);
    await createFeed(db, 'entities', 'uuid');
  },

  async down(db: Knex) {
    await dropFeed(db, 'entities');
    await db.raw('drop table entities.entities');
  },
};
