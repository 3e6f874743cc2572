import { client, type ServiceClient } from '@crs/kit/rpc/client';
import { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';

export type ProjectsClient = ServiceClient<ProjectsServiceService>;

/** A client of a projects service, without a gateway and with a long timeout. */
export function projectsClient(address: string): ProjectsClient {
  return client(ProjectsServiceService, { name: 'projects', address, timeoutMs: 30_000, retry: false });
}
