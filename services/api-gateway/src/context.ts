import type { ServiceClient } from '@crs/kit/rpc/client';
import type { CallsServiceService } from '@crs/proto/crs/calls/v1/calls';
import type { ProjectsServiceService } from '@crs/proto/crs/projects/v1/projects';
import type { Credentials } from './http/credentials.ts';
import type { Entity } from './http/send.ts';

/** Dependencies of the routes. */
export interface Context {
  calls: ServiceClient<CallsServiceService>;
  projects: ServiceClient<ProjectsServiceService>;
  credentials: Credentials;
  /** The OpenAPI document. */
  openapi: Entity;
}
