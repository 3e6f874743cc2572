import type { AuthServiceService } from '@crs/proto/crs/auth/v1/auth';
import { unavailable } from '@crs/kit/errors';
import type { CallOptions, ServiceClient } from '@crs/kit/rpc/client';

/** The projects that a user may see, by id, with the user's roles. */
export type VisibleProjects = Map<string, { created: boolean; lead: boolean; member: boolean }>;

const MAX_TRIES = 3;

/**
 * Reads rows for a user by the projects that the user may see. Gets these from auth before the read, and their version again after it. If the version has
 * changed, reads again, so that a user never sees a row that was added after the user's removal. Nothing is cached.
 * @throws ServiceError unavailable if the version keeps changing or auth is down
 */
export async function readAsUser<T>(
  auth: ServiceClient<AuthServiceService>,
  call: CallOptions,
  read: (visible: VisibleProjects) => Promise<T>,
): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { projects, version } = await auth.getVisibleProjects({}, call);
    const result = await read(
      new Map(projects.map(({ projectId, created, lead, member }) => [projectId, { created, lead, member }])),
    );
    const after = await auth.getVisibilityVersion({}, call);
    if (after.version === version) return result;
  }
  throw unavailable('The rights of the user kept changing while the rows were read.');
}
