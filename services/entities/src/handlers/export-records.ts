import { callerScope } from '@crs/kit/data/scope';
import { afterUuid, exportRpc, nextOf, readPage } from '@crs/records/export';
import type { RecordContext } from '@crs/records/record-service';
import { exportLine } from './export-line.ts';
import { exportEntities } from '../store/entities.ts';

export function exportRecords({ importDb, auth }: RecordContext) {
  return exportRpc('entities', auth.recordAudit, {
    entity: async (after, call) => {
      const scope = callerScope(call);
      const page = await readPage(importDb, scope, exportEntities(scope.organization, afterUuid(after)));
      const projectIds = [...new Set(page.rows.map(({ projectId }) => projectId))];
      const { projects } = await auth.describeReferences({ userIds: [], projectIds }, call);
      const known = new Set(projects.map(({ projectId }) => projectId));
      // Omits entities of a project whose erasure has begun.
      const rows = page.rows.filter(({ projectId }) => known.has(projectId));
      return { lines: rows.map((row) => exportLine(scope.organization, row)), next: nextOf(page, ({ entityId }) => entityId) };
    },
  });
}
