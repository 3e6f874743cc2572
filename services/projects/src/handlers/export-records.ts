import { callerScope } from '@crs/kit/data/scope';
import { afterUuid, exportRpc, nextOf, readPage, withoutNulls } from '@crs/records/export';
import type { RecordContext } from '@crs/records/record-service';
import type { ProjectGrant } from '@crs/proto/crs/auth/v1/auth';
import { exportOffices } from '../store/billing-offices.ts';
import { exportProjects, type ProjectRow } from '../store/projects.ts';

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
        return grant ? projectLine(scope.organization, row, grant) : [];
      });
      return { lines, next: nextOf(page, ({ projectId }) => projectId) };
    },
  });
}

function projectLine(organization: string, row: ProjectRow, { createdBy, members }: ProjectGrant): object {
  return withoutNulls({
    type: 'project',
    organization,
    id: row.projectId,
    name: row.name,
    summary: row.summary,
    status: row.status,
    is_archived: row.isArchived,
    created_at: row.createdAt,
    created_by: createdBy ?? null,
    billing_office_name: row.billingOfficeName,
    members: members.map(({ email, lead }) => ({ email, role: lead ? 'lead' : 'member' })),
  });
}
