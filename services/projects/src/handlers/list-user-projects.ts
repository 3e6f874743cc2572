import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { readAsUser, type VisibleProjects } from '@crs/records/visibility';
import { rpc } from '@crs/kit/rpc/server';
import type { ListUserProjectsRequest, ListUserProjectsResponse, UserProject } from '@crs/proto/crs/projects/v1/projects';
import { listProjects } from '../store/list-projects.ts';
import type { ProjectRow } from '../store/projects.ts';

const MAX_LIMIT = 100;

export function listUserProjects({ db, auth }: RecordContext) {
  return rpc({ user: ['projects:read'] }, async (request: ListUserProjectsRequest, call): Promise<ListUserProjectsResponse> => {
    const { mine, includeArchived, after, limit } = request;
    if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be 1 to ${MAX_LIMIT}`);
    const scope = callerScope(call);
    const { rows, visible } = await readAsUser(auth, call, async (projects) => {
      const query = {
        projectIds: [...projects].filter(([, roles]) => !mine || roles.created || roles.lead).map(([id]) => id),
        includeArchived,
        after: after?.createdAt ? { createdAt: after.createdAt, projectId: after.projectId } : null,
        // One more row than the page tells whether there is a next page.
        limit: limit + 1,
      };
      return { rows: await db.read(scope, listProjects(scope.organization, query)), visible: projects };
    });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return {
      projects: page.map((row) => toUserProject(row, visible)),
      next: last && { createdAt: last.createdAt, projectId: last.projectId },
    };
  });
}

function toUserProject(row: ProjectRow, visible: VisibleProjects): UserProject {
  const roles = visible.get(row.projectId);
  return {
    projectId: row.projectId,
    name: row.name ?? undefined,
    summary: row.summary ?? undefined,
    status: row.status ?? undefined,
    isArchived: row.isArchived,
    createdAt: row.createdAt,
    role: roles?.lead ? 'lead' : roles?.member ? 'member' : undefined,
  };
}
