import { createHash } from 'node:crypto';
import type { Query } from '@crs/kit/data/database';
import type { EntityRecord } from '../domain/import-records.ts';

/** What is stored of an entity that an import touches. */
export interface StoredEntity {
  entityId: string;
  createdAt: Date;
  recordHash: Buffer;
}

/** An entity to be written. */
export interface EntityWrite extends StoredEntity {
  record: EntityRecord;
}

/** One import or erasure of an organization at a time, so that what is read before writing holds. @returns the transaction's time */
export async function lockImports(query: Query, organization: string): Promise<Date> {
  const [row] = await query<{ now: Date }>({
    name: 'lock_imports',
    text: `select pg_advisory_xact_lock(hashtextextended('entities.import:' || $1, 0)), now()::timestamptz(3) as now`,
    values: [organization],
  });
  return row!.now;
}

export function findStored(query: Query, organization: string, entityIds: string[]): Promise<StoredEntity[]> {
  return query<StoredEntity>({
    name: 'find_stored_entities',
    // Each by its key: by `= any`, the planner may walk all of the organization in another index while nothing has been analyzed yet.
    text: `select e.entity_id as "entityId", created_at as "createdAt", record_hash as "recordHash"
      from unnest($2::uuid[]) as asked (entity_id) cross join lateral (
        select * from entities.entities where organization = $1 and entity_id = asked.entity_id limit 1) e`,
    values: [organization, entityIds],
  });
}

/** Of the whole record, with the time that it gets. */
export function hashOf(record: EntityRecord, createdAt: Date): Buffer {
  return createHash('sha256')
    .update(JSON.stringify({ ...record, created_at: createdAt }))
    .digest();
}

/** Writes whole entities, one row an id. */
export async function putEntities(query: Query, organization: string, writes: EntityWrite[]): Promise<void> {
  const column = (pick: (write: EntityWrite) => unknown) => writes.map(pick);
  await query({
    name: 'put_entities',
    text: `insert into entities.entities (organization, entity_id, project_id, name, entity_type, category, competitor_tier, is_competitor,
        description, overview, domain, created_at, record_hash)
      select $1, * from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[],
        $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::bytea[])
      on conflict (organization, entity_id) do update set project_id = excluded.project_id, name = excluded.name,
        entity_type = excluded.entity_type, category = excluded.category, competitor_tier = excluded.competitor_tier,
        is_competitor = excluded.is_competitor, description = excluded.description, overview = excluded.overview,
        domain = excluded.domain, created_at = excluded.created_at, record_hash = excluded.record_hash`,
    values: [
      organization,
      column((w) => w.entityId),
      column((w) => w.record.project_id),
      column((w) => w.record.name),
      column((w) => w.record.entity_type),
      column((w) => w.record.category),
      column((w) => w.record.competitor_tier),
      column((w) => w.record.is_competitor),
      column((w) => w.record.description),
      column((w) => w.record.overview),
      column((w) => w.record.domain),
      column((w) => w.createdAt.toISOString()),
      column((w) => w.recordHash),
    ],
  });
}

export async function deleteEntities(query: Query, organization: string, entityIds: string[]): Promise<void> {
  await query({
    name: 'delete_entities',
    text: 'delete from entities.entities where organization = $1 and entity_id = any($2::uuid[])',
    values: [organization, entityIds],
  });
}

/** Erases the entities of a project, or all of the organization. */
export async function eraseEntities(query: Query, organization: string, projectId: string | null): Promise<void> {
  await query({
    name: 'erase_entities',
    text: 'delete from entities.entities where organization = $1 and (project_id = $2 or $2::uuid is null)',
    values: [organization, projectId],
  });
}
