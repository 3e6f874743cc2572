import type { Query } from '@crs/kit/data/database';
import { byLine, importRpc, NO_ORGANIZATION, readBatch, refused } from '@crs/kit/product/import-batch';
import { callerScope } from '@crs/kit/data/scope';
import type { RecordContext as Context } from '@crs/kit/product/record-service';
import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import { entityLine, type EntityLine } from '../domain/import-records.ts';
import {
  deleteEntities,
  findStored,
  hashOf,
  lockImports,
  putEntities,
  type EntityWrite,
  type StoredEntity,
} from '../store/entities.ts';

export function importRecords({ importDb, auth }: Context) {
  return importRpc(async (request, call) => {
    const scope = callerScope(call);
    const { lines, errors } = await readBatch(request, entityLine, scope.organization);
    if (lines.length === 0) return { accepted: 0, unchanged: 0, errors };
    await auth.recordAudit({ action: 'entities.import', target: `${lines.length} records` }, call);
    return importDb.transact(scope, async (query) => {
      const time = await lockImports(query, scope.organization);
      // Asked under the lock: a project that is erased meanwhile takes what was written before with it.
      const projectIds = [...new Set(lines.flatMap(({ record }) => (record.deleted ? [] : record.project_id)))];
      const references = await auth.resolveReferences({ emails: [], projectIds }, call);
      const projects = new Set(references.projectIds);
      const unknown: ImportError[] = [];
      const known: EntityLine[] = [];
      for (const { number, record } of lines) {
        if (!references.organizationExists) unknown.push(refused(number, NO_ORGANIZATION));
        else if (!record.deleted && !projects.has(record.project_id)) unknown.push(refused(number, NO_PROJECT));
        else known.push(record);
      }
      const counts = await store(query, scope.organization, known, time);
      return { ...counts, errors: byLine([...errors, ...unknown]) };
    });
  });
}

const NO_PROJECT = { field: 'project_id', reason: 'must be a project of this organization' };

async function store(
  query: Query,
  organization: string,
  records: EntityLine[],
  time: Date,
): Promise<{ accepted: number; unchanged: number }> {
  const stored = await findStored(query, organization, [...new Set(records.map(({ id }) => id))]);
  const before = new Map<string, StoredEntity>(stored.map((row) => [row.entityId, row]));
  const now = new Map<string, StoredEntity | EntityWrite>(before);
  let accepted = 0;
  for (const record of records) {
    const current = now.get(record.id);
    if (record.deleted) {
      if (now.delete(record.id)) accepted++;
      continue;
    }
    const createdAt = record.created_at ?? current?.createdAt ?? time;
    const recordHash = hashOf(record, createdAt);
    if (current?.recordHash.equals(recordHash)) continue;
    now.set(record.id, { entityId: record.id, createdAt, recordHash, record });
    accepted++;
  }
  const gone = [...before.keys()].filter((id) => !now.has(id));
  const writes = [...now.values()].filter((entity) => 'record' in entity);
  if (gone.length > 0) await deleteEntities(query, organization, gone);
  if (writes.length > 0) await putEntities(query, organization, writes);
  return { accepted, unchanged: records.length - accepted };
}
