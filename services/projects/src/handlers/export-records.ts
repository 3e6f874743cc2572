import { callerScope } from '@crs/kit/data/scope';
import { afterUuid, exportRpc, nextOf, readPage } from '@crs/records/export';
import type { RecordContext } from '@crs/records/record-service';
import { exportLine } from './export-line.ts';
import { exportOffices } from '../store/billing-offices.ts';
import { exportProjects } from '../store/projects.ts';

export function exportRecords({ importDb, auth }: RecordContext) {
  return exportRpc('projects', auth.recordAudit, {
    billing_office: async (after, call) => {
      const scope = callerScope(call);
      const page = await readPage(importDb, scope, exportOffices(scope.organization, after));
      const lines = page.rows.map(({ name, isDefault }) => ({
        type: 'billing_office',
        organization: scope.organization,
        name,
        is_default: isDefault,
      }));
      return { lines, next: nextOf(page, ({ name }) => name) };
    },
    project: async (after, call) => {
      const scope = callerScope(call);
      const page = await readPage(importDb, scope, exportProjects(scope.organization, afterUuid(after)));
      const { projects } = await auth.describeReferences(
        { userIds: [], projectIds: page.rows.map(({ projectId }) => projectId) },
        call,
      );
      const grants = new Map(projects.map((grant) => [grant.projectId, grant]));
      // A project whose erasure has begun has no grant any more.
      const lines = page.rows.flatMap((row) => {
        const grant = grants.get(row.projectId);
        return grant ? exportLine(scope.organization, row, grant) : [];
      });
      return { lines, next: nextOf(page, ({ projectId }) => projectId) };
    },
  });
}
