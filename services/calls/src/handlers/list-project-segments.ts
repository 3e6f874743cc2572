import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { readAsUser } from '@crs/kit/product/visibility';
import type { ListProjectSegmentsRequest, ListProjectSegmentsResponse, ProjectSegments } from '@crs/proto/crs/calls/v1/calls';
import type { Context } from '../context.ts';
import { projectSegments } from '../store/get-user-call.ts';

const MAX_PROJECTS = 100;

export function listProjectSegments({ db, auth }: Context) {
  return rpc(['user'], async (request: ListProjectSegmentsRequest, call): Promise<ListProjectSegmentsResponse> => {
    if (request.projectIds.length > MAX_PROJECTS) throw invalid('project_ids', `must be at most ${MAX_PROJECTS}`);
    const scope = callerScope(call);
    const projects = await readAsUser(auth, call, (visible) =>
      db.read<ProjectSegments>(
        scope,
        projectSegments(
          scope.organization,
          request.projectIds.filter((id) => visible.has(id)),
        ),
      ),
    );
    return { projects };
  });
}
