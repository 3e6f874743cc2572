import { callerScope } from '@crs/kit/data/scope';
import { invalid } from '@crs/kit/errors';
import { rpc } from '@crs/kit/rpc/server';
import { fold, parseUuid } from '@crs/kit/text';
import type { ResolveReferencesRequest, ResolveReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import type { Context } from '../context.ts';
import { requireText } from '../domain/settings.ts';
import { organizationExists } from '../store/organizations.ts';
import { findProjects } from '../store/projects.ts';
import { findUsersByEmail } from '../store/users.ts';

const MAX_REFERENCES = 10_000;

export function resolveReferences({ db }: Context) {
  const access = { action: 'import', roles: ['admin', 'importer'], token: 'one', bound: true } as const;
  return rpc({ operator: access }, async (request: ResolveReferencesRequest, call): Promise<ResolveReferencesResponse> => {
    if (request.emails.length > MAX_REFERENCES) throw invalid('emails', `must be at most ${MAX_REFERENCES}`);
    if (request.projectIds.length > MAX_REFERENCES) throw invalid('project_ids', `must be at most ${MAX_REFERENCES}`);
    for (const email of request.emails) requireText('emails', email, 0, Infinity);
    if (!request.projectIds.every(parseUuid)) throw invalid('project_ids', 'must be UUIDs');
    const scope = callerScope(call);
    const folded = request.emails.map(fold);
    return db.transact(scope, async (query) => {
      const [[known], users, projects] = await Promise.all([
        query(organizationExists(scope.organization)),
        query(findUsersByEmail(scope.organization, folded)),
        query(findProjects(scope.organization, request.projectIds)),
      ]);
      const byEmail = new Map(users.map((user) => [user.emailFolded, user.userId]));
      const found = request.emails.flatMap((email, index) => {
        const userId = byEmail.get(folded[index]!);
        return userId ? [{ email, userId }] : [];
      });
      return { users: found, projectIds: projects.map((each) => each.projectId), organizationExists: known !== undefined };
    });
  });
}
