import { callerScope } from '@crs/kit/data/scope';
import { withEarlier } from '@crs/records/earlier-lines';
import { byLine, importRpcs, NO_ORGANIZATION, readBatch, refused } from '@crs/records/import-batch';
import { lockImports } from '@crs/records/lock-imports';
import type { RecordContext } from '@crs/records/record-service';
import type { ImportError } from '@crs/proto/crs/imports/v1/imports';
import { changesOf } from '../domain/import-changes.ts';
import { lineReader, type EntityLine } from '../domain/import-records.ts';
import { deleteEntities, findStored, putEntities } from '../store/entities.ts';

const NO_PROJECT = { field: 'project_id', reason: 'must be a project of this organization' };

export function imports({ importDb, auth }: RecordContext) {
  return importRpcs('entities', auth.recordAudit, async (batch, call) => {
    const scope = callerScope(call);
    const { organization } = scope;
    const { lines, errors } = await readBatch(batch, lineReader, scope);
    if (lines.length === 0) return { accepted: 0, unchanged: 0, errors };
    return importDb.transact(scope, async (query) => {
      const [lock] = await query(lockImports('entities', organization));
      // Auth is asked under the lock, so that an erasure of a project that comes later finds the entities that this import writes.
      const projectIds = [...new Set(lines.flatMap(({ record }) => (record.deleted ? [] : record.project_id)))];
      const question = { emails: [], projectIds };
      const references = withEarlier(question, await auth.resolveReferences(question, call), batch.earlier);
      const projects = new Set(references.projectIds);
      const unknown: ImportError[] = [];
      const known: EntityLine[] = [];
      for (const { number, record } of lines) {
        if (!references.organizationExists) unknown.push(refused(number, NO_ORGANIZATION));
        else if (!record.deleted && !projects.has(record.project_id)) unknown.push(refused(number, NO_PROJECT));
        else known.push(record);
      }
      const stored = await query(findStored(organization, [...new Set(known.map(({ id }) => id))]));
      const { accepted, deleted, written } = changesOf(known, stored, lock!.now);
      const counts = { accepted, unchanged: known.length - accepted, errors: byLine([...errors, ...unknown]) };
      if (batch.earlier) return counts;
      if (deleted.length > 0) await query(deleteEntities(organization, deleted));
      if (written.length > 0) await query(putEntities(organization, written));
      return counts;
    });
  });
}
