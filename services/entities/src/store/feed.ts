import * as column from '@crs/kit/data/column';
import type { Records } from '@crs/records/feed/details';
import { feedOf } from '@crs/records/feed/feed';
import { listStatement } from '@crs/records/feed/list-records';
import { EXPORTED_ENTITY, TEXTS, type ExportedEntity } from './entities.ts';

/** The changes of entities. */
export const feed = feedOf('entities', 'entity', column.uuid);

const ENTITIES: Records<ExportedEntity> = {
  table: 'entities.entities',
  key: 'entity_id',
  columns: EXPORTED_ENTITY,
  select: () => column.selectList(EXPORTED_ENTITY, 'c'),
  present: 'entityId',
  long: TEXTS,
};

/** Lists a page of changes with the entities in full. */
export const listChangesWithDetails = feed.withDetails(ENTITIES, { columns: {}, sql: '' });

export const listOrganizationEntities = listStatement('entities', ENTITIES, column.uuid);
