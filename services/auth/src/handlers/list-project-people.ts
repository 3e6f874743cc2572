import { callerScope } from '@crs/kit/data/scope';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { ListProjectPeopleRequest, ListProjectPeopleResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { projectPeople } from '../store/projects.ts';

export function listProjectPeople({ db }: Context) {
  return rpc(
    { organization: 'write surface' },
    async (request: ListProjectPeopleRequest, call): Promise<ListProjectPeopleResponse> => {
      const scope = callerScope(call);
      const projectId = parseUuid(request.projectId);
      const rows = projectId ? await db.read(scope, projectPeople(scope.organization, projectId)) : [];
      return { people: rows.map(({ email, name, lead }) => ({ email, name: name ?? undefined, lead })) };
    },
  );
}
