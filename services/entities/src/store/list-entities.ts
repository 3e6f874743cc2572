import type { Statement } from '@crs/kit/data/database';

export interface EntityRow {
  entityId: string;
  name: string | null;
  type: string | null;
  category: string | null;
  competitorTier: string | null;
  isCompetitor: boolean | null;
  description: string | null;
  overview: string | null;
  domain: string | null;
  createdAt: Date;
}

export interface EntityQuery {
  projectId: string;
  /** Null: all types. */
  type: string | null;
  after: { createdAt: Date; entityId: string } | null;
  limit: number;
}

/** Newest first, then by descending id. */
export function listEntities(organization: string, { projectId, type, after, limit }: EntityQuery): Statement {
  const values = [organization, projectId, type, limit];
  const beyond = after ? 'and (created_at, entity_id) < ($5, $6)' : '';
  return {
    name: after ? 'list_entities_after' : 'list_entities',
    text: `select entity_id as "entityId", name, entity_type as type, category, competitor_tier as "competitorTier",
        is_competitor as "isCompetitor", description, overview, domain, created_at as "createdAt"
      from entities.entities where organization = $1 and project_id = $2 and ($3::text is null or entity_type = $3) ${beyond}
      order by created_at desc, entity_id desc limit $4`,
    values: after ? [...values, after.createdAt, after.entityId] : values,
  };
}
