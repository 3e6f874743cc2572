// A client that tests use to call a projects service directly, without a gateway.

import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';

export type ProjectsClient = ServiceClient<ProjectsServiceService>;

/** The timeout is long, because tests hold requests up. */
export function projectsClient(address: string): ProjectsClient {
  return client(ProjectsServiceService, { name: 'projects', address, timeoutMs: 30_000, retry: false });
}
