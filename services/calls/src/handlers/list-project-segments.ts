import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { readAsUser } from '@crs/records/visibility';
import { rpc } from '@crs/kit/rpc/server';
import type { ListProjectSegmentsRequest, ListProjectSegmentsResponse } from '@crs/proto/crs/calls/v1/calls';
import { projectSegments } from '../store/project-segments.ts';

const MAX_PROJECTS = 100;

export function listProjectSegments({ db, auth }: RecordContext) {
  return rpc(
    { user: ['projects:read'] },
    async (request: ListProjectSegmentsRequest, call): Promise<ListProjectSegmentsResponse> => {
      if (request.projectIds.length > MAX_PROJECTS) throw invalid('project_ids', `must be at most ${MAX_PROJECTS}`);
      const scope = callerScope(call);
      const projects = await readAsUser(auth, call, (visible) => {
        const ids = request.projectIds.filter((id) => visible.has(id));
        return db.read(scope, projectSegments(scope.organization, ids));
      });
      return { projects };
    },
  );
}
