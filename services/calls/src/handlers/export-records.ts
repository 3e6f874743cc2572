import { callerScope } from '@crs/kit/data/scope';
import { exportRpc, nextOf, readPage } from '@crs/records/export';
import type { RecordContext } from '@crs/records/record-service';
import { describe, linesOf } from './export-lines.ts';
import { exportCalls } from '../store/export-calls.ts';

export function exportRecords({ importDb, auth }: RecordContext) {
  return exportRpc('calls', auth.recordAudit, {
    call: async (after, call) => {
      const scope = callerScope(call);
      const page = await readPage(importDb, scope, exportCalls(scope.organization, after));
      const { emails, projects } = await describe(page.rows, (request) => auth.describeReferences(request, call));
      // Leaves out calls whose project is being deleted.
      const rows = page.rows.filter(({ projectId }) => projectId === null || projects.has(projectId));
      const lines = await linesOf(scope.organization, rows, emails);
      return { lines, next: nextOf(page, ({ callId }) => callId) };
    },
  });
}
