import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { rpc } from '@crs/kit/rpc/server';
import type { ListProjectsRequest, ListProjectsResponse } from '@crs/proto/crs/projects/v1/admin';
import { listAllProjects } from '../store/list-projects.ts';

const MAX_LIMIT = 1_000;

export function listProjects({ db, auth }: RecordContext) {
  const access = { action: 'project.list', roles: ['admin', 'manager', 'viewer', 'auditor'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async ({ limit, after }: ListProjectsRequest, call): Promise<ListProjectsResponse> => {
    if (limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const scope = callerScope(call);
    await auth.recordAudit({ action: access.action, target: '', address: call.address, counted: false }, call);
    const count = limit || MAX_LIMIT;
    const position = after?.createdAt ? { createdAt: after.createdAt, projectId: after.projectId } : null;
    // One more row than the page tells whether there is a next page.
    const rows = await db.read(scope, listAllProjects(scope.organization, position, count + 1));
    const page = rows.slice(0, count);
    const last = rows.length > count ? page.at(-1) : undefined;
    return {
      projects: page.map(({ projectId, name, status, isArchived, createdAt, billingOfficeName }) => ({
        projectId,
        name: name ?? undefined,
        status: status ?? undefined,
        isArchived,
        createdAt,
        billingOfficeName: billingOfficeName ?? undefined,
      })),
      next: last && { createdAt: last.createdAt, projectId: last.projectId },
    };
  });
}
