import type { ResolveReferencesRequest, ResolveReferencesResponse } from '@crs/proto/crs/auth/v1/auth';
import type { EarlierLines } from '@crs/proto/crs/imports/v1/imports';
import { fold } from '@crs/kit/text';

/** Stands for a user whom only an earlier line makes. Nobody has this id. */
const NEW_USER = '00000000-0000-0000-0000-000000000000';

/** Auth's answer to the question, as if the earlier lines of the file were stored. */
export function withEarlier(
  asked: ResolveReferencesRequest,
  found: ResolveReferencesResponse,
  earlier: EarlierLines | undefined,
): ResolveReferencesResponse {
  if (!earlier) return found;
  const users = new Map(earlier.users.map((user) => [fold(user.email), user]));
  const projects = new Map(earlier.projects.map((project) => [project.projectId, project]));
  const known = new Map(found.users.map(({ email, userId }) => [email, userId]));
  const registered = new Set(found.projectIds);
  return {
    users: asked.emails.flatMap((email) => {
      const user = users.get(fold(email));
      const userId = user?.deleted ? undefined : known.get(email);
      if (userId !== undefined) return [{ email, userId }];
      return user?.stored ? [{ email, userId: NEW_USER }] : [];
    }),
    projectIds: asked.projectIds.filter((id) => {
      const project = projects.get(id);
      return project?.stored || (registered.has(id) && !project?.deleted);
    }),
    organizationExists: found.organizationExists || earlier.organization !== undefined,
  };
}
