import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { parseUuid } from '@crs/kit/text';
import type { DescribeReferencesRequest, DescribeReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { describeProjects, findEmails } from '../store/exports.ts';

const MAX_REFERENCES = 10_000;

export function describeReferences({ db }: Context) {
  const access = { action: 'export', roles: ['admin'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async (request: DescribeReferencesRequest, call): Promise<DescribeReferencesResponse> => {
    const ids = { user_ids: request.userIds, project_ids: request.projectIds };
    for (const [field, values] of Object.entries(ids)) {
      if (values.length > MAX_REFERENCES) throw invalid(field, `must be at most ${MAX_REFERENCES}`);
      if (!values.every(parseUuid)) throw invalid(field, 'must be UUIDs');
    }
    const scope = callerScope(call);
    const [users, projects] = await db.transact(scope, (query) =>
      Promise.all([
        query(findEmails(scope.organization, request.userIds)),
        query(describeProjects(scope.organization, request.projectIds)),
      ]),
    );
    return { users, projects: projects.map((project) => ({ ...project, createdBy: project.createdBy ?? undefined })) };
  });
}
