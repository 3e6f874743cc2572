import { withoutNulls } from '@crs/records/export';
import type { ExportedEntity } from '../store/entities.ts';

/** Returns the line that an import turns back into this entity. */
export function exportLine(organization: string, row: ExportedEntity): object {
  return withoutNulls({
    type: 'entity',
    organization,
    project_id: row.projectId,
    id: row.entityId,
    name: row.name,
    entity_type: row.entityType,
    category: row.category,
    competitor_tier: row.competitorTier,
    is_competitor: row.isCompetitor,
    description: row.description,
    overview: row.overview,
    domain: row.domain,
    created_at: row.createdAt,
  });
}
