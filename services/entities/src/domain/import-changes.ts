import { hash } from 'node:crypto';
import type { EntityLine, EntityRecord } from './import-records.ts';

/** What an import needs to know of a stored entity. */
export interface StoredEntity {
  entityId: string;
  createdAt: Date;
  /** SHA-256 of the whole record. */
  recordHash: Buffer;
}

type EntityToWrite = ReturnType<typeof toWrite>;

export interface Changes {
  /** Lines that changed something. */
  accepted: number;
  /** Ids of the stored entities to delete. */
  deleted: string[];
  written: EntityToWrite[];
}

/** What the lines change, one after the other. A new entity without a time gets the import's. */
export function changesOf(records: EntityLine[], stored: StoredEntity[], importedAt: Date): Changes {
  const before = new Map(stored.map((entity) => [entity.entityId, entity]));
  const now = new Map<string, StoredEntity | EntityToWrite>(before);
  let accepted = 0;
  for (const record of records) {
    const current = now.get(record.id);
    if (record.deleted) {
      if (now.delete(record.id)) accepted++;
      continue;
    }
    const entity = toWrite(record, record.created_at ?? current?.createdAt ?? importedAt);
    if (current?.recordHash.equals(entity.recordHash)) continue;
    now.set(record.id, entity);
    accepted++;
  }
  return {
    accepted,
    deleted: [...before.keys()].filter((id) => !now.has(id)),
    written: [...now.values()].filter((entity) => 'projectId' in entity),
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
