import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { deleteNext } from '@crs/kit/data/delete-next';
import { upsert } from '@crs/kit/data/upsert';
import type { StoredEntity } from '../domain/import-changes.ts';

/** An entity as users read it. */
export const ENTITY = {
  entityId: column.uuid,
  name: column.text.orNull,
  entityType: column.text.orNull,
  category: column.text.orNull,
  competitorTier: column.text.orNull,
  isCompetitor: column.boolean.orNull,
  description: column.text.orNull,
  overview: column.text.orNull,
  domain: column.text.orNull,
  createdAt: column.instant,
};

export const putEntities = upsert({
  name: 'put_entities',
  table: 'entities.entities',
  key: 'entityId',
  columns: { ...ENTITY, projectId: column.uuid, recordHash: column.bytes },
});

const STORED = { entityId: column.uuid, createdAt: column.instant, recordHash: column.bytes };

/** The stored ones of these entities. */
export function findStored(organization: string, entityIds: string[]): Statement<StoredEntity> {
  return {
    name: 'find_stored_entities',
    row: STORED,
    // Each entity is looked up by its key: with `= any`, the planner may walk all of the organization in another index before the table is analyzed.
    text: `select ${column.selectList(STORED, 'e')}
      from unnest($2::uuid[]) as asked (entity_id) cross join lateral (
        select * from entities.entities where organization = $1 and entity_id = asked.entity_id limit 1) e`,
    values: [organization, entityIds],
  };
}

export function deleteEntities(organization: string, entityIds: string[]): Statement {
  return {
    name: 'delete_entities',
    text: 'delete from entities.entities where organization = $1 and entity_id = any($2::uuid[])',
    values: [organization, entityIds],
  };
}

/** Some entities of the organization. */
export const eraseEntities = deleteNext({ name: 'erase_entities', table: 'entities.entities', key: 'entity_id' });

export function eraseProjectEntities(organization: string, projectId: string): Statement {
  return {
    name: 'erase_project_entities',
    text: 'delete from entities.entities where organization = $1 and project_id = $2',
    values: [organization, projectId],
  };
}
