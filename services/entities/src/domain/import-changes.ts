import { hash } from 'node:crypto';
import type { EntityLine, EntityRecord } from './import-records.ts';

/** What an import needs to know about a stored entity. */
export interface StoredEntity {
  entityId: string;
  createdAt: Date;
  /** SHA-256 of the whole record. */
  recordHash: Buffer;
}

type EntityToWrite = ReturnType<typeof toWrite>;

interface Changes {
  /** The number of lines that changed something. */
  accepted: number;
  /** The number of lines that stored a new entity. */
  created: number;
  /** Ids of the stored entities to delete. */
  deleted: string[];
  written: EntityToWrite[];
}

/** Applies the lines in order, and returns what changed. A new entity without a creation time gets the import's. */
export function changesOf(records: EntityLine[], stored: StoredEntity[], importedAt: Date): Changes {
  const before = new Map(stored.map((entity) => [entity.entityId, entity]));
  const after = new Map<string, StoredEntity | EntityToWrite>(before);
  let accepted = 0;
  let created = 0;
  for (const record of records) {
    const current = after.get(record.id);
    if (record.deleted) {
      if (after.delete(record.id)) accepted++;
      continue;
    }
    const entity = toWrite(record, record.created_at ?? current?.createdAt ?? importedAt);
    if (current?.recordHash.equals(entity.recordHash)) continue;
    after.set(record.id, entity);
    accepted++;
    if (!current) created++;
  }
  return {
    accepted,
    created,
    deleted: [...before.keys()].filter((id) => !after.has(id)),
    written: [...after.values()].filter((entity) => 'projectId' in entity),
  };
}

function toWrite(record: EntityRecord, createdAt: Date) {
  return {
    entityId: record.id,
    projectId: record.project_id,
    name: record.name,
    entityType: record.entity_type,
    category: record.category,
    competitorTier: record.competitor_tier,
    isCompetitor: record.is_competitor,
    description: record.description,
    overview: record.overview,
    domain: record.domain,
    createdAt,
    recordHash: hash('sha256', `${record.contentHash} ${createdAt.toISOString()}`, 'buffer'),
  };
}
