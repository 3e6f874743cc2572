import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { deleteNext } from '@crs/kit/data/delete-next';
import { upsert } from '@crs/kit/data/upsert';
import type { StoredEntity } from '../domain/import-changes.ts';

/** What users see of an entity. */
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
  createdAt: column.timestamp,
};

export const putEntities = upsert({
  name: 'put_entities',
  table: 'entities.entities',
  key: 'entityId',
  columns: { ...ENTITY, projectId: column.uuid, recordHash: column.bytes },
});

const STORED = { entityId: column.uuid, createdAt: column.timestamp, recordHash: column.bytes };

export function findStored(organization: string, entityIds: string[]): Statement<StoredEntity> {
  return {
    name: 'find_stored_entities',
    row: STORED,
    // One look-up per key: with `= any`, the planner may scan the whole organization in another index until the table is analyzed.
    text: `select ${column.selectList(STORED, 'e')}
      from unnest($2::uuid[]) as requested (entity_id) cross join lateral (
        select * from entities.entities where organization = $1 and entity_id = requested.entity_id limit 1) e`,
    values: [organization, entityIds],
  };
}

const LENGTH = { id: column.uuid, length: column.integer };
/** The columns whose lengths add up to that of an entity. */
export const TEXTS = [
  'name',
  'entityType',
  'category',
  'competitorTier',
  'description',
  'overview',
  'domain',
] as const satisfies (keyof typeof ENTITY)[];

/** The lengths of the texts of stored entities, in bytes. */
export function findLengths(organization: string, entityIds: string[]): Statement<column.RowOf<typeof LENGTH>> {
  return {
    name: 'find_entity_lengths',
    row: LENGTH,
    text: `select e.entity_id as id, ${TEXTS.map((name) => `coalesce(octet_length(e.${column.snakeCase(name)}), 0)`).join(' + ')} as length
      from unnest($2::uuid[]) as requested (entity_id) cross join lateral (
        select * from entities.entities where organization = $1 and entity_id = requested.entity_id limit 1) e`,
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

export const eraseEntities = deleteNext({ name: 'erase_entities', table: 'entities.entities', key: 'entity_id' });

const ERASED = { entityId: column.uuid };

/** Deletes up to `atMost` entities of a project. Returns their ids. */
export function eraseProjectEntities(
  organization: string,
  projectId: string,
  atMost: number,
): Statement<column.RowOf<typeof ERASED>> {
  return {
    name: 'erase_project_entities',
    row: ERASED,
    text: `with first as (
        select entity_id from entities.entities where organization = $1 and project_id = $2
        order by created_at desc, entity_id desc limit $3
      )
      delete from entities.entities e using first where e.organization = $1 and e.entity_id = first.entity_id
      returning e.entity_id as "entityId"`,
    values: [organization, projectId, atMost],
  };
}

export const EXPORTED_ENTITY = { ...ENTITY, projectId: column.uuid };
export type ExportedEntity = column.RowOf<typeof EXPORTED_ENTITY>;

/** Whole entities. */
export function findEntities(organization: string, entityIds: string[]): Statement<ExportedEntity> {
  return {
    name: 'find_entities',
    row: EXPORTED_ENTITY,
    text: `select ${column.selectList(EXPORTED_ENTITY, 'e')}
      from unnest($2::uuid[]) as requested (entity_id) cross join lateral (
        select * from entities.entities where organization = $1 and entity_id = requested.entity_id limit 1) e`,
    values: [organization, entityIds],
  };
}

/** The entities after an id, in order of id, without a limit. */
export function exportEntities(organization: string, after: string | null): Statement<ExportedEntity> {
  return {
    name: 'export_entities',
    row: EXPORTED_ENTITY,
    text: `select ${column.selectList(EXPORTED_ENTITY)} from entities.entities
      where organization = $1 and ($2::uuid is null or entity_id > $2) order by entity_id`,
    values: [organization, after],
  };
}
