import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { ENTITY } from './entities.ts';

const ROW = { ...ENTITY, projectId: column.uuid };
export type ExportedEntity = column.RowOf<typeof ROW>;

/** Entities after an id, in that order. */
export function exportEntities(organization: string, after: string | null): Statement<ExportedEntity> {
  return {
    name: 'export_entities',
    row: ROW,
    text: `select ${column.selectList(ROW)} from entities.entities
      where organization = $1 and ($2::uuid is null or entity_id > $2) order by entity_id`,
    values: [organization, after],
  };
}
