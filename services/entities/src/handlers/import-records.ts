import { callerScope } from '@crs/kit/data/scope';
import { importRpcs, readBatch, refused, sortByLine } from '@crs/records/import-batch';
import { lockImports } from '@crs/records/lock-imports';
import { missing } from '@crs/records/missing-reference';
import type { RecordContext } from '@crs/records/record-service';
import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import { changesOf } from '../domain/import-changes.ts';
import { lineReader, type EntityLine } from '../domain/import-records.ts';
import { deleteEntities, findStored, putEntities } from '../store/entities.ts';

export function imports({ importDb, auth }: RecordContext) {
  return importRpcs('entities', auth.recordAudit, lineReader, async (batch, call) => {
    const scope = callerScope(call);
    const { organization } = scope;
    const { lines, errors } = await readBatch(batch, lineReader, scope);
    if (lines.length === 0) return { accepted: 0, unchanged: 0, errors };
    return importDb.transact(scope, async (query) => {
      const [lock] = await query(lockImports('entities', organization));
      // Called under the lock, so that a later erasure of a project finds the entities that this import writes.
      const projectIds = [...new Set(lines.flatMap(({ record }) => (record.deleted ? [] : record.project_id)))];
      const references = await auth.resolveReferences({ emails: [], projectIds }, call);
      const projects = new Set(references.projectIds);
      const unknown: ImportError[] = [];
      const known: EntityLine[] = [];
      for (const { number, record } of lines) {
        if (!references.organizationExists) unknown.push(refused(number, missing('organization', 'organization')));
        else if (!record.deleted && !projects.has(record.project_id))
          unknown.push(refused(number, missing('project', 'project_id')));
        else known.push(record);
      }
      const stored = await query(findStored(organization, [...new Set(known.map(({ id }) => id))]));
      const { accepted, deleted, written } = changesOf(known, stored, lock!.now);
      if (deleted.length > 0) await query(deleteEntities(organization, deleted));
      if (written.length > 0) await query(putEntities(organization, written));
      return { accepted, unchanged: known.length - accepted, errors: sortByLine([...errors, ...unknown]) };
    });
  });
}
