import type { Query } from '@crs/kit/data/database';
import { callerScope } from '@crs/kit/data/scope';
import { applyMerges, mergedIds, segmentsOf } from '@crs/records/apply-merges';
import {
  type BatchCall,
  type BatchMode,
  importRpcs,
  isCommitted,
  isRefused,
  type NumberedRecord,
  readBatch,
  refused,
  sortByLine,
  type Stored,
} from '@crs/records/import-batch';
import { MovedRecords } from '@crs/records/feed/moved';
import { lockImports } from '@crs/records/lock-imports';
import type { Merge } from '@crs/records/merge';
import { missing } from '@crs/records/missing-reference';
import type { RecordContext } from '@crs/records/record-service';
import { transactIf } from '@crs/records/transact-if';
import type { ImportError, ImportLine } from '@crs/proto/crs/imports/v1/imports';
import { exportLine } from './export-line.ts';
import { changesOf } from '../domain/import-changes.ts';
import { lineReader, type EntityLine } from '../domain/import-records.ts';
import { feed } from '../store/feed.ts';
import { deleteEntities, findEntities, findLengths, findStored, putEntities } from '../store/entities.ts';

type Lines = NumberedRecord<EntityLine | Merge>[];

export function imports({ importDb, auth }: RecordContext) {
  const store = async (batch: ImportLine[], call: BatchCall, mode: BatchMode): Promise<Stored> => {
    const scope = callerScope(call);
    const { organization } = scope;
    const { lines, errors } = await readBatch(batch, lineReader, scope, mode);
    const counts = { accepted: 0, unchanged: 0, created: 0 };
    if (lines.length === 0 || isRefused(mode, errors)) return { ...counts, errors };
    const work = async (query: Query) => {
      const [lock] = await query(lockImports('entities', organization));
      const time = lock!.now;
      const moved = new MovedRecords();
      for (const segment of await split(query, organization, lines)) {
        const merged = await merge(query, organization, segment);
        // Called under the lock, so that a later erasure of a project finds the entities that this import writes.
        const { known, unknown } = await resolve(merged.lines, call, mode);
        const stored = await query(findStored(organization, [...new Set(known.map(({ id }) => id))]));
        const { accepted, created, deleted, written } = changesOf(known, stored, time);
        if (deleted.length > 0) await query(deleteEntities(organization, deleted));
        if (written.length > 0) await query(putEntities(organization, written));
        const storedIds = new Set(stored.map(({ entityId }) => entityId));
        for (const entityId of deleted) moved.delete(entityId);
        for (const { entityId } of written) moved.change(entityId, storedIds.has(entityId));
        counts.accepted += accepted;
        counts.created += created;
        counts.unchanged += known.length - accepted;
        errors.push(...merged.errors, ...unknown);
      }
      await feed.append(query, organization, moved.at(time), time);
      return { ...counts, errors: sortByLine(errors) };
    };
    return transactIf(importDb, scope, work, (stored) => isCommitted(mode, stored));
  };

  const resolve = async (lines: NumberedRecord<EntityLine>[], call: BatchCall, { supposed }: BatchMode) => {
    const projectIds = [...new Set(lines.flatMap(({ record }) => (record.deleted ? [] : record.project_id)))];
    const references = await auth.resolveReferences({ emails: [], projectIds }, call);
    const projects = new Set([...references.projectIds, ...supposed.projectIds]);
    const unknown: ImportError[] = [];
    const known: EntityLine[] = [];
    for (const { number, record } of lines) {
      if (!references.organizationExists) unknown.push(refused(number, missing('organization', 'organization')));
      else if (!record.deleted && !projects.has(record.project_id))
        unknown.push(refused(number, missing('project', 'project_id')));
      else known.push(record);
    }
    return { known, unknown };
  };

  const { recordAudit: record, recordKeyAction } = auth;
  return importRpcs({ service: 'entities', record, recordKeyAction, reader: lineReader, store });
}

async function split(query: Query, organization: string, lines: Lines): Promise<Lines[]> {
  const ids = mergedIds(lines);
  const rows = ids.length > 0 ? await query(findLengths(organization, ids)) : [];
  return segmentsOf(lines, ({ id }) => id, new Map(rows.map(({ id, length }) => [id, length])));
}

/** Under the lock, so that no other import changes an entity between its reading and its writing. */
async function merge(query: Query, organization: string, segment: Lines) {
  const ids = mergedIds(segment);
  const rows = ids.length > 0 ? await query(findEntities(organization, ids)) : [];
  const stored = new Map(rows.map((row) => [row.entityId, Buffer.from(JSON.stringify(exportLine(organization, row)))]));
  return applyMerges(segment, stored, lineReader);
}
