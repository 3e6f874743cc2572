import { callerScope, type Scope } from '@crs/kit/data/scope';
import { notFound } from '@crs/kit/errors';
import type { RecordContext } from '@crs/records/record-service';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { GetProjectRequest, GetProjectResponse } from '@crs/proto/crs/projects/v1/projects';
import { getProject as get } from '../store/projects.ts';

export function getProject({ db, auth }: RecordContext, pruneOnRead: (scope: Scope) => Promise<void>) {
  return rpc(
    { organization: { rights: ['read'], writeSurface: true } },
    async (request: GetProjectRequest, call): Promise<GetProjectResponse> => {
      const scope = callerScope(call);
      await pruneOnRead(scope);
      const projectId = parseUuid(request.projectId);
      const [row] = projectId ? await db.read(scope, get(scope.organization, projectId)) : [];
      if (!row) throw notFound('There is no project with this id.');
      const { people } = await auth.listProjectPeople({ projectId: row.projectId }, call);
      const first = people.find((person) => person.lead);
      const toPerson = ({ name, email }: (typeof people)[number]) => ({ name, email });
      return {
        project: {
          projectId: row.projectId,
          name: row.name ?? undefined,
          summary: row.summary ?? undefined,
          status: row.status ?? undefined,
          createdAt: row.createdAt,
          lead: first && toPerson(first),
          members: people.filter((person) => person !== first).map(toPerson),
          billingOfficeName: row.billingOfficeName ?? undefined,
        },
      };
    },
  );
}
