import * as column from '@crs/kit/data/column';
import type { Statement } from '@crs/kit/data/database';
import { ENTITY } from './entities.ts';

export type EntityRow = column.RowOf<typeof ENTITY>;

export interface EntityQuery {
  projectId: string;
  /** Null: all types. */
  type: string | null;
  after: { createdAt: Date; entityId: string } | null;
  limit: number;
}

export function listEntities(organization: string, { projectId, type, after, limit }: EntityQuery): Statement<EntityRow> {
  const values = [organization, projectId, type, limit];
  const beyond = after ? 'and (created_at, entity_id) < ($5, $6)' : '';
  return {
    name: after ? 'list_entities_after' : 'list_entities',
    row: ENTITY,
    text: `select ${column.selectList(ENTITY)}
      from entities.entities where organization = $1 and project_id = $2 and ($3::text is null or entity_type = $3) ${beyond}
      order by created_at desc, entity_id desc limit $4`,
    values: after ? [...values, after.createdAt, after.entityId] : values,
  };
}
