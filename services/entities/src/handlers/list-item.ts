import type { AllowedField } from '@crs/records/allowed-fields';
import type { ExportedEntity } from '../store/entities.ts';

const TEXTS: AllowedField = 'summary';

/** Renders an entity as REST lists it. Its texts say what was said in calls, so they need the organization's allowed field `summary`. */
export function renderListItem(row: ExportedEntity, allowedFields: readonly string[]): string {
  const { description, overview } = row;
  return JSON.stringify({
    entity_id: row.entityId,
    project_id: row.projectId,
    name: row.name,
    type: row.entityType,
    category: row.category,
    competitor_tier: row.competitorTier,
    is_competitor: row.isCompetitor,
    ...(allowedFields.includes(TEXTS) && { description, overview }),
    domain: row.domain,
    created_at: row.createdAt,
  });
}
